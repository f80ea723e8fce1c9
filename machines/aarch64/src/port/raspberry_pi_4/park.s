// Firmware's other cores wait, without address translation, until an address stands at the place of each one in its first page
// (the tree's cpu-release-addr), which is not mapped later: so they are sent to a loop of the image's own at once.
.text
take_cores:
    adrp    x0, wait_parked
    add     x0, x0, :lo12:wait_parked
    mov     x1, #0xe0               // that of core 1
    stp     x0, x0, [x1]
    str     x0, [x1, #16]
    dsb     sy
    sev
    ret

wait_parked:
    msr     daifset, #0xf
    mrs     x1, mpidr_el1
    and     x1, x1, #3
    ldr     x2, =parked
1:  wfe
    ldr     x0, [x2, x1, lsl #3]
    cbz     x0, 1b
    sub     x0, x0, #1
    b       other_core_entry
.ltorg

// Each core's number is written by a core with caches: nothing else lies in the line.
.section .data.parked, "aw"
.align 7
.global parked
parked:
    .fill   16, 8, 0
.text
