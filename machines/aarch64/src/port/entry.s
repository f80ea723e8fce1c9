// From the loader to Rust. The boot core comes with the address of the device tree in x0, the others by PSCI with the
// number that they are to have; all of them without address translation, at exception level 1 or 2.

// ---------------------------------------------------------------- the header that loaders of 64-bit Arm read
.section .head, "ax"
    b       boot_core_entry
    .long   0
    .quad   0x200000                // from the beginning of RAM
    .quad   image_bytes
    .quad   2                       // little endian, pages of 4 KiB
    .quad   0, 0, 0
    .ascii  "ARM\x64"
    .long   0

// ---------------------------------------------------------------- boot core
.section .boot.text, "ax"
boot_core_entry:
    msr     daifset, #0xf
    mov     x19, x0
    bl      to_level_1
    ldr     x0, =bss_start
    ldr     x1, =bss_end
1:  cmp     x0, x1
    b.hs    2f
    stp     xzr, xzr, [x0], #16
    b       1b
2:
.if !{is_virt}
    bl      take_cores
.endif
    bl      translate_addresses
    ldr     x0, =boot_stack_end
    bl      take_stacks
    mov     x0, x19
    msr     tpidr_el1, xzr
    bl      boot_core_main
    b       .

// ---------------------------------------------------------------- other cores
.global other_core_entry
other_core_entry:
    msr     daifset, #0xf
    mov     x19, x0
    bl      to_level_1
    bl      translate_addresses
    ldr     x1, =other_core_stacks
    ldr     x0, [x1, x19, lsl #3]
    bl      take_stacks
    mov     x0, x19
    msr     tpidr_el1, x19
    bl      other_core_main
    b       .

// Exceptions stand on the topmost 8 KiB of the stack that ends at x0, everything else on the rest.
take_stacks:
    msr     spsel, #1
    mov     sp, x0
    msr     spsel, #0
    sub     x0, x0, #8192
    mov     sp, x0
    ldr     x0, =vectors
    msr     vbar_el1, x0
    mov     x29, xzr
    isb
    ret

// From level 2, where some firmware leaves us, to level 1.
to_level_1:
    mrs     x1, currentel
    cmp     x1, #8
    b.ne    1f
    mov     x1, #(1 << 31)          // level 1 is 64-bit
    msr     hcr_el2, x1
    mov     x1, #3                  // it has the clocks
    msr     cnthctl_el2, x1
    msr     cntvoff_el2, xzr
    mrs     x1, mdcr_el2            // and all counters
    and     x1, x1, #0x1f
    msr     mdcr_el2, x1
    mrs     x1, midr_el1            // and says who it is
    msr     vpidr_el2, x1
    mrs     x1, mpidr_el1
    msr     vmpidr_el2, x1
.if {is_virt}
    mrs     x1, icc_sre_el2         // and the interrupt controller's registers
    orr     x1, x1, #1
    orr     x1, x1, #8
    msr     icc_sre_el2, x1
.endif
    mov     x1, #0x3c5              // level 1 with its own stack pointer, interrupts kept out
    msr     spsr_el2, x1
    msr     elr_el2, x30
    eret
1:  ret

translate_addresses:
    ldr     x1, =0xff00             // attribute 0: devices, 1: write-back memory
    msr     mair_el1, x1
    ldr     x1, =0x100803519        // 39 bits of addresses, pages of 4 KiB, 36 bits of physical ones, shared and cached walks, none above
    msr     tcr_el1, x1
    ldr     x1, =gibibytes
    msr     ttbr0_el1, x1
    dsb     sy
    tlbi    vmalle1
    ic      iallu
    dsb     sy
    isb
    ldr     x1, =0x30d0180d         // reserved ones; instruction and data caches, stack alignment, translation
    msr     sctlr_el1, x1
    isb
    ret
.ltorg

// ---------------------------------------------------------------- tables
// The first 4 GiB, each address to itself: 1 GiB of devices and 3 of RAM, which is in pieces of 2 MiB; the image's 4 MiB page by
// page, so that it can move. The first 2 MiB are not there: null pointers fault.
.set DEVICE, 0x60000000000401       // never executed, accessed, devices, a block
.set MEMORY, 0x705                  // accessed, shared, write-back, a block
.set PAGE,   0x707                  // the same, a page
.section .fixed.tables, "aw"
.align 12
.global gibibytes
gibibytes:
.if {is_virt}
    .quad   devices + 3, pieces + 3, pieces + 0x1003, pieces + 0x2003
.else
    .quad   pieces + 3, pieces + 0x1003, pieces + 0x2003, devices + 3
.endif
    .fill   508, 8, 0
devices:
    .quad   0
    .set    at, {devices} + 0x200000
    .rept   511
    .quad   at + DEVICE
    .set    at, at + 0x200000
    .endr
pieces:
.if {is_virt}
    .quad   {ram} + MEMORY
.else
    .quad   0
.endif
    .quad   image_pages + 3, image_pages + 0x1003
    .set    at, {ram} + 0x600000
    .rept   3 * 512 - 3
    .quad   at + MEMORY
    .set    at, at + 0x200000
    .endr
.global image_pages
image_pages:
    .set    at, {ram} + 0x200000
    .rept   1024
    .quad   at + PAGE
    .set    at, at + 0x1000
    .endr

.section .bss.boot, "aw", @nobits
.align 12
    .skip   73728
.global boot_stack_end
boot_stack_end:
    .skip   4096
.global emergency_stack_end
emergency_stack_end:
.text
