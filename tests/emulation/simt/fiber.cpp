/* fiber.cpp - stacks and the switch between them. On x86-64 a switch is six pushes and pops (swapcontext makes a
 * system call each time); elsewhere, or with SIMT_FIBER_UCONTEXT, it is ucontext. No shadow stacks (CET) are expected.
 * */
#include "state.h"

#include <pthread.h>
#include <sys/mman.h>
#if !defined(__x86_64__) && !defined(SIMT_FIBER_UCONTEXT)
#define SIMT_FIBER_UCONTEXT 1
#endif
#if SIMT_FIBER_UCONTEXT
#include <ucontext.h>
#endif

namespace simt {

/* A fiber's locals; sanitized code needs several times more. */
#if SIMT_ASAN || SIMT_WITH_TSAN
constexpr size_t STACK = 256 << 10;
#else
constexpr size_t STACK = 64 << 10;
#endif
constexpr size_t GUARD = 4096; /* an overflow faults */

struct fiber {
    char *stack;
    size_t size;
    void *fake; /* the address sanitizer's stack of it */
#if SIMT_FIBER_UCONTEXT
    ucontext_t context;
#else
    void *sp;
#endif
};

static fiber launcher, *current = &launcher;
static std::vector<fiber *> &pool() {
    static auto *p = new std::vector<fiber *>; /* outlives static destructors */
    return *p;
}

#if SIMT_FIBER_UCONTEXT
static void start(fiber *f) {
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = f->size;
    f->context.uc_link = nullptr;
    makecontext(&f->context, thread_main, 0);
}
static void jump(fiber *from, fiber *to) { swapcontext(&from->context, &to->context); }
#else
/* Saves what the ABI says a callee keeps on the old stack, takes it off the new one. */
extern "C" void simt_switch(void **save_sp, void *sp);
asm(R"(.text
.globl simt_switch
.type simt_switch,@function
simt_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size simt_switch,.-simt_switch
)");
static void start(fiber *f) {
    auto *top = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(f->stack + f->size) & ~15ull);
    *--top =
        nullptr; /* where thread_main() would return to; it sees rsp % 16 == 8, as after a call */
    *--top = reinterpret_cast<void *>(thread_main);
    for (int i = 0; i < 6; i++) *--top = nullptr;
    f->sp = top;
}
static void jump(fiber *from, fiber *to) { simt_switch(&from->sp, to->sp); }
#endif

fiber *fiber_of_launcher() {
#if SIMT_ASAN
    pthread_attr_t a;
    void *stack;
    if (pthread_getattr_np(pthread_self(), &a) == 0) {
        pthread_attr_getstack(&a, &stack, &launcher.size);
        launcher.stack = static_cast<char *>(stack);
        pthread_attr_destroy(&a);
    }
#endif
    return &launcher;
}

fiber *fiber_take() {
    fiber *f;
    if (!pool().empty()) {
        f = pool().back();
        pool().pop_back();
    } else {
        f = new fiber{};
        f->size = STACK;
        void *p = mmap(nullptr, STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) fail("no memory for the stack of a thread");
        f->stack = static_cast<char *>(p);
        mprotect(f->stack, GUARD, PROT_NONE);
    }
    ASAN_UNPOISON_MEMORY_REGION(f->stack + GUARD, f->size - GUARD);
#if SIMT_WITH_TSAN
    /* mapping it again makes the sanitizer forget what earlier threads did on this stack */
    mmap(f->stack + GUARD, f->size - GUARD, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#endif
    f->fake = nullptr;
    start(f);
    return f;
}

void fiber_give(fiber *f) { pool().push_back(f); }

void fiber_switch(fiber *f, void *tsan, bool dying) {
    fiber *me = current;
    current = f;
    (void)tsan;
    (void)dying;
#if SIMT_ASAN
    __sanitizer_start_switch_fiber(dying ? nullptr : &me->fake, f->stack, f->size);
#endif
    TSAN(__tsan_switch_to_fiber(tsan, 1)); /* 1: a switch orders nothing */
    jump(me, f);
#if SIMT_ASAN
    __sanitizer_finish_switch_fiber(me->fake, nullptr, nullptr);
#endif
}

} // namespace simt
