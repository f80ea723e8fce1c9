// Where exceptions and interrupts arrive. Threads stand on SP_EL0; the processor enters on SP_EL1, which belongs to
// exceptions: a thread that has lost its stack can make a mistake nevertheless. Interrupts move on to the stack of the thread
// that they find, because the kernel may go on in another one.

.macro unexpected
    .align 7
    b       nowhere
.endm

.section .vectors, "ax"
.align 11
.global vectors
vectors:
    b       mistake                 // from here, on SP_EL0
    .align 7
    b       interrupt
    unexpected
    unexpected
    .align 7
    b       mistake_in_mistake      // from here, on SP_EL1
    unexpected
    unexpected
    unexpected
    unexpected                      // from level 0, of which there is none
    unexpected
    unexpected
    unexpected
    unexpected
    unexpected
    unexpected
    unexpected

.macro save_general
    stp     x0, x1, [sp]
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x19, [sp, #144]
    stp     x20, x21, [sp, #160]
    stp     x22, x23, [sp, #176]
    stp     x24, x25, [sp, #192]
    stp     x26, x27, [sp, #208]
    stp     x28, x29, [sp, #224]
.endm

interrupt:
    msr     spsel, #0
    sub     sp, sp, #272
    save_general
    add     x0, sp, #272
    mrs     x1, elr_el1
    mrs     x2, spsr_el1
    stp     x30, x0, [sp, #240]
    stp     x1, x2, [sp, #256]
    mov     x0, sp
    bl      interrupt_dispatch
    cbnz    x0, afterlife
    ldp     x1, x2, [sp, #256]
    msr     elr_el1, x1
    msr     spsr_el1, x2
    ldp     x0, x1, [sp]
    ldp     x2, x3, [sp, #16]
    ldp     x4, x5, [sp, #32]
    ldp     x6, x7, [sp, #48]
    ldp     x8, x9, [sp, #64]
    ldp     x10, x11, [sp, #80]
    ldp     x12, x13, [sp, #96]
    ldp     x14, x15, [sp, #112]
    ldp     x16, x17, [sp, #128]
    ldp     x18, x19, [sp, #144]
    ldp     x20, x21, [sp, #160]
    ldp     x22, x23, [sp, #176]
    ldp     x24, x25, [sp, #192]
    ldp     x26, x27, [sp, #208]
    ldp     x28, x29, [sp, #224]
    ldr     x30, [sp, #240]
    add     sp, sp, #272
    eret

// The thread goes on at x0 with an empty stack that ends at x1.
afterlife:
    mov     sp, x1
begin_again:
    msr     elr_el1, x0
    mov     x0, #4                  // level 1 on SP_EL0, interrupts let in
    msr     spsr_el1, x0
    mov     x29, xzr
    eret

mistake:
    sub     sp, sp, #272
    save_general
    mrs     x0, sp_el0
    mrs     x1, elr_el1
    mrs     x2, spsr_el1
    stp     x30, x0, [sp, #240]
    stp     x1, x2, [sp, #256]
    mov     x0, sp
    bl      exception_dispatch
    add     sp, sp, #272
    msr     sp_el0, x1
    b       begin_again

mistake_in_mistake:
    ldr     x16, =emergency_stack_end
    mov     sp, x16
    bl      double_fault
nowhere:
    ldr     x16, =emergency_stack_end
    msr     spsel, #1
    mov     sp, x16
    bl      unexpected_exception
    b       .
.ltorg
.text
