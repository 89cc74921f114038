/* `lanes`: a few numbers side by side, and what can be done to them. Twice: as a vector of the machine (GCC and Clang), and
 * with -DPLAIN as a single double, so that the loops over lanes are plain loops for the compiler to make vectors of. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(PLAIN)

#define WIDTH 1
#define INDEPENDENT _Pragma("GCC ivdep") /* the arrays of a game never overlap */
#define SIDE_BY_SIDE _Pragma("omp simd") /* no sums either: a vector at a time */
typedef double lanes;
typedef int64_t flags;

static inline lanes all(double value) { return value; }
static inline lanes pick(int where, lanes yes, lanes no) { return where ? yes : no; }
static inline lanes roots(lanes v) { return sqrt(v); }
static inline double sum(lanes v) { return v; }
static inline double largest(lanes v) { return v; }
static inline double lane(const lanes *v, int64_t i) { return v[i]; }
static inline void set_lane(lanes *v, int64_t i, double value) { v[i] = value; }
static inline flags truncated(lanes v) { return (int32_t)v; } /* every machine converts 32 bits in vectors */
static inline lanes numbers(flags n) { return (lanes)n; }
static inline lanes from_bits(flags bits)
{
    lanes v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#else

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define WIDTH ((int)(BYTES / sizeof(double)))
#define INDEPENDENT
#define SIDE_BY_SIDE
typedef double lanes __attribute__((vector_size(BYTES)));
typedef int64_t flags __attribute__((vector_size(BYTES)));

static inline lanes all(double value) { return value - (lanes){0}; }
static inline lanes pick(flags where, lanes yes, lanes no) { return (lanes)((where & (flags)yes) | (~where & (flags)no)); }
static inline lanes roots(lanes v)
{
    for (int k = 0; k < WIDTH; k++) v[k] = sqrt(v[k]);
    return v;
}
static inline double sum(lanes v) /* in halves: three additions deep for eight lanes, not eight */
{
    for (int half = WIDTH / 2; half; half /= 2)
        for (int k = 0; k < half; k++) v[k] += v[k + half];
    return v[0];
}
static inline double largest(lanes v)
{
    for (int half = WIDTH / 2; half; half /= 2)
        for (int k = 0; k < half; k++) v[k] = v[k] > v[k + half] ? v[k] : v[k + half];
    return v[0];
}
static inline double lane(const lanes *v, int64_t i) { return v[i / WIDTH][i % WIDTH]; }
static inline void set_lane(lanes *v, int64_t i, double value) { v[i / WIDTH][i % WIDTH] = value; }
static inline flags truncated(lanes v) { return __builtin_convertvector(v, flags); }
static inline lanes numbers(flags n) { return __builtin_convertvector(n, lanes); }
static inline lanes from_bits(flags bits) { return (lanes)bits; }

#endif

static inline lanes larger(lanes a, lanes b) { return pick(a > b, a, b); }
static inline lanes smaller(lanes a, lanes b) { return pick(a < b, a, b); }
