# From the loader to Rust: the boot core comes in 32-bit protected mode (PVH, Multiboot2), the others in real mode.
# AT&T syntax.

# ---------------------------------------------------------------- the note that makes this a PVH image
.section .note.pvh, "a", @note
.align 4
    .long 4                     # length of the name
    .long 8                     # length of the value
    .long 18                    # XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad pvh_entry

# ---------------------------------------------------------------- the header that makes it a Multiboot2 image
.section .multiboot2, "a", @progbits
.align 8
multiboot2_header:
    .long 0xe85250d6
    .long 0                     # 32-bit protected mode
    .long multiboot2_header_end - multiboot2_header
    .long -(0xe85250d6 + multiboot2_header_end - multiboot2_header)
    .word 3, 0                  # where to enter: not where the ELF file says, which is for PVH
    .long 12
    .long multiboot2_entry
    .align 8
    .word 1, 0                  # what must be told: the map of memory
    .long 12
    .long 6
    .align 8
    .word 0, 0
    .long 8
multiboot2_header_end:

# ---------------------------------------------------------------- boot core
.section .boot.text, "ax", @progbits
.code32
multiboot2_entry:               # eax: the loader's magic number, ebx: physical address of its information
    movl    %eax, %esi          # survives into 64-bit mode as the second argument
    jmp     1f
.global pvh_entry
pvh_entry:                      # ebx: physical address of the start info
    xorl    %esi, %esi
1:  cli
    cld
    movl    %ebx, %edi          # survives into 64-bit mode as the first argument
    movl    $boot_stack_end, %esp
    call    enable_long_mode
    lgdt    boot_gdt_pointer
    ljmpl   $0x08, $boot_core_64

enable_long_mode:               # clobbers eax, ecx, edx
    movl    %cr4, %eax
    orl     $0x20, %eax         # PAE
    movl    %eax, %cr4
    movl    $page_map, %eax
    movl    %eax, %cr3
    movl    $0xc0000080, %ecx   # EFER
    rdmsr
    orl     $0x100, %eax        # LME
    wrmsr
    movl    %cr0, %eax
    orl     $0x80010001, %eax   # PG, WP, PE
    movl    %eax, %cr0
    ret

.code64
boot_core_64:
    movw    $0x10, %ax
    movw    %ax, %ds
    movw    %ax, %es
    movw    %ax, %ss
    movq    $boot_stack_end, %rsp
    xorl    %ebp, %ebp
    movl    %edi, %edi          # the upper halves are undefined after the mode switch
    movl    %esi, %esi
    call    boot_core_main
1:  hlt
    jmp     1b

# ---------------------------------------------------------------- other cores, copied to page 8
.align 16
.global trampoline_start
trampoline_start:
.code16
    cli
    cld
    xorw    %ax, %ax
    movw    %ax, %ds
    lgdtl   0x8000 + trampoline_gdt_pointer - trampoline_start
    movl    %cr0, %eax
    orl     $1, %eax
    movl    %eax, %cr0
    ljmpl   $0x18, $(0x8000 + trampoline_32 - trampoline_start)
.code32
trampoline_32:
    movw    $0x10, %ax
    movw    %ax, %ds
    movw    %ax, %es
    movw    %ax, %ss
    movl    %cr4, %eax
    orl     $0x20, %eax
    movl    %eax, %cr4
    movl    $page_map, %eax
    movl    %eax, %cr3
    movl    $0xc0000080, %ecx
    rdmsr
    orl     $0x100, %eax
    wrmsr
    movl    %cr0, %eax
    orl     $0x80010001, %eax
    movl    %eax, %cr0
    ljmpl   $0x08, $other_core_64
.align 8
trampoline_gdt_pointer:
    .word   boot_gdt_end - boot_gdt - 1
    .long   boot_gdt
.global trampoline_end
trampoline_end:

.code64
other_core_64:                  # no stack yet: it is found by the local APIC's identity
    movl    $0x1b, %ecx         # APIC_BASE; bit 10: firmware has left an x2APIC
    rdmsr
    testl   $0x400, %eax
    jz      1f
    movl    $0x802, %ecx
    rdmsr
    movl    %eax, %edi
    jmp     3f
1:  movl    $0xfee00020, %eax
    movl    (%rax), %edi
    shrl    $24, %edi
3:  xorl    %ecx, %ecx
4:  cmpl    %edi, core_identities(,%rcx,8)
    je      5f
    incl    %ecx
    cmpl    $16, %ecx           # MOST_CORES
    jne     4b
2:  cli
    hlt                         # a core that nobody expected stays here
    jmp     2b
5:  movq    other_core_stacks(,%rcx,8), %rsp
    xorl    %ebp, %ebp
    movl    %ecx, %edi
    call    other_core_main     # with its number; it does not come back
    jmp     2b

# ---------------------------------------------------------------- tables
.section .data.boot, "aw", @progbits
.align 8
boot_gdt:
    .quad 0
    .quad 0x00af9a000000ffff    # 0x08: 64-bit code
    .quad 0x00cf92000000ffff    # 0x10: data
    .quad 0x00cf9a000000ffff    # 0x18: 32-bit code
boot_gdt_end:
boot_gdt_pointer:
    .word boot_gdt_end - boot_gdt - 1
    .long boot_gdt

# The first 4 GiB, each address to itself, in pages of 2 MiB; the last GiB, where devices live, uncached.
.align 4096
.global page_map
page_map:
    .quad page_directories_map + 3
    .fill 511, 8, 0
.align 4096
page_directories_map:
    .quad page_directories + 0x0003
    .quad page_directories + 0x1003
    .quad page_directories + 0x2003
    .quad page_directories + 0x3003
    .fill 508, 8, 0
.align 4096
.global page_directories
page_directories:
    .set    frame, 0
    .rept   3 * 512
    .quad   frame + 0x83        # present, writable, large
    .set    frame, frame + 0x200000
    .endr
    .rept   512
    .quad   frame + 0x9b        # and uncached
    .set    frame, frame + 0x200000
    .endr

.section .bss.boot, "aw", @nobits
.align 16
    .skip 65536
.global boot_stack_end
boot_stack_end:
.section .text
