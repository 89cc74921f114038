/* SwordBest in plain C: the floor under the compiled engine, and a third implementation of the same algorithm.
 *
 * Squared losses f_t(x) = (<a_t, x> - y_t)^2 / 2 on a ball of radius R around the origin; extra-gradient (OEGD) and
 * gradient-descent (OGD) experts with constant steps; learned optimism; Hedge with the self-confident rate; the sums of
 * the certificate. Shares no line and no array layout with the Python code.
 *
 * The idea. Every gradient is a number times a_t, so beside one pass over the experts' base points all that happens in a
 * round happens to numbers, one per expert. The base points (xhat for OEGD, x for OGD) are kept as base_i = s_i W_i: a
 * projection on the ball is a change of s_i alone. W has shape (d, N), experts along the contiguous axis, so that one
 * feature meets all experts in one or two vector instructions.
 *
 * The code is written on `lanes`, a few experts side by side: a vector of the machine, or with -DPLAIN a single double, in
 * which case these are the plain loops that one leaves to the compiler. N is padded to a multiple of 8 with copies of the
 * last expert whose prior is 0: copies change no minimum and no maximum, and a prior of 0 keeps them out of every sum.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lanes.h"

#define PADDING 8           /* experts come in multiples of this */
#define SMALLEST_SCALE 1e-6 /* fold s_i into W before it can underflow */
#define REFRESH_ROUNDS 4096 /* norms are updated incrementally: recompute them from W this often */

static inline double dot(const double *a, const double *b, int64_t dim)
{
    double parts[8] = {0}, rest = 0.0; /* eight sums at once, or each addition would wait for the one before */
    int64_t j = 0;
    for (; j + 8 <= dim; j += 8)
        for (int k = 0; k < 8; k++) parts[k] += a[j + k] * b[j + k];
    for (; j < dim; j++) rest += a[j] * b[j];
    for (int k = 0; k < 8; k++) rest += parts[k];
    return rest;
}

/* exp(x) for x <= 0, every lane at once. x = n ln 2 + f with |f| <= ln 2 / 2, so exp(x) = 2^n exp(f); the Taylor sum of
 * degree 11 leaves 0.3466^12 / 12! = 6e-15. ln 2 is taken off in two parts so that f keeps all its bits. 2^n is made by
 * writing n into the exponent; below -708 it stays there, as the smallest weight. */
static inline lanes exponentials(lanes x)
{
    x = larger(x, all(-708.0));
    const flags n = truncated(x * 1.4426950408889634 - 0.5); /* truncation rounds negative numbers to the nearest */
    const lanes whole = numbers(n);
    const lanes f = (x - whole * 0x1.62e42fee00000p-1) - whole * 0x1.a39ef35793c76p-33;
    const lanes f2 = f * f, f4 = f2 * f2, f8 = f4 * f4;
    const lanes first = (1.0 + f) + f2 * (1.0 / 2 + f * (1.0 / 6));
    const lanes second = (1.0 / 24 + f * (1.0 / 120)) + f2 * (1.0 / 720 + f * (1.0 / 5040));
    const lanes third = (1.0 / 40320 + f * (1.0 / 362880)) + f2 * (1.0 / 3628800 + f * (1.0 / 39916800));
    return (first + f4 * second + f8 * third) * from_bits((n + 1023) << 52);
}

/* Everything that outlives a round. Arrays have one entry per expert, `vectors` times WIDTH in all. */
typedef struct {
    int64_t vectors, dim;
    double radius, kappa, offset, entropy;
    lanes *W;                       /* (dim, vectors) */
    lanes *live, *extra;            /* 1 for a real expert; 1 for OEGD, 0 for OGD */
    lanes *step;                    /* eta */
    lanes *scale, *inverse;         /* s and 1/s: base = s W */
    lanes *norm;                    /* norm(base)^2 */
    lanes *pending;                 /* W - pending a_{t-1} is what W should be */
    lanes *z;                       /* <a_t, base>, before and after the base moves */
    lanes *h;                       /* <a_t, x_t> */
    lanes *replay, *ahead, *shrink; /* rhat; x_t = shrink (base - ahead a_{t-1}) */
    lanes *beyond;                  /* norm(base - ahead a)^2, before it is projected */
    lanes *lead;                    /* norm(x_t - base)^2 / (2 eta) */
    lanes *coming;                  /* <a_t, x_{t+1}> */
    lanes *guess;                   /* m_t */
    lanes *weight;                  /* p_t before it is normalised */
    lanes *advantage, *drift;       /* the certificate's sums */
    double weight_sum, rate, mismatch, trust_difference, candidate;
    double last_energy;             /* norm(a_{t-1})^2 */
    int tiny;                       /* whether some scale fell below SMALLEST_SCALE */
} game;

/* base <- R base / norm(base) where base lies outside the ball: s takes the factor, and W is left alone. */
static inline void project_bases(game *g)
{
    const double radius2 = g->radius * g->radius, outward = 1.0 / g->radius;
    lanes small = all(1.0);
    INDEPENDENT
    for (int64_t v = 0; v < g->vectors; v++) {
        const lanes root = roots(larger(g->norm[v], all(radius2)));
        const lanes factor = pick(g->norm[v] > radius2, g->radius / root, all(1.0));
        g->inverse[v] *= pick(g->norm[v] > radius2, root * outward, all(1.0));
        g->norm[v] = smaller(g->norm[v], all(radius2));
        g->scale[v] *= factor;
        g->z[v] *= factor;
        small = smaller(small, g->scale[v]);
    }
    g->tiny |= -largest(-small) < SMALLEST_SCALE;
}

static inline void project_points(game *g)
{
    const double radius2 = g->radius * g->radius;
    INDEPENDENT
    for (int64_t v = 0; v < g->vectors; v++)
        g->shrink[v] = pick(g->beyond[v] > radius2, g->radius / roots(larger(g->beyond[v], all(radius2))), all(1.0));
}

/* A round, once z = <a_t, W> is known. `cross` = <a_t, a_{t-1}>, `energy` = norm(a_t)^2. Returns <a_t, x_t>. */
static inline double settle(game *g, double cross, double energy, double target)
{
    const int64_t vectors = g->vectors;
    const double radius2 = g->radius * g->radius, normaliser = 1.0 / g->weight_sum, last_energy = g->last_energy;

    /* What each expert says: <a_t, x_t> = shrink (<a_t, base> - ahead <a_t, a_{t-1}>). No point is formed. */
    lanes weighed = all(0.0);
    INDEPENDENT
    for (int64_t v = 0; v < vectors; v++) {
        g->z[v] *= g->scale[v];
        g->h[v] = g->shrink[v] * (g->z[v] - g->ahead[v] * cross);
        weighed += g->weight[v] * g->h[v];
    }
    const double prediction = sum(weighed) * normaliser;
#if defined STAGES && STAGES < 2 /* to see what each part costs: see missed/engine.py */
    return prediction;
#endif
    const double residual = prediction - target, common = residual * prediction; /* g_t = residual a_t */

    lanes low = all(DBL_MAX), high = all(-DBL_MAX), farthest = all(0.0);
    INDEPENDENT
    for (int64_t v = 0; v < vectors; v++) {
        /* l = <g_t, x_i> = residual h. The meta's cumulative loss and the certificate's first sum are one:
         * sum <g, x - x_i> = sum residual prediction - cumulative_i, and Hedge does not feel the common part. */
        const lanes loss = residual * g->h[v], off = loss - g->guess[v];
        low = smaller(low, off);
        high = larger(high, off);
        g->advantage[v] += common - loss;

        /* norm(g_i - M_i)^2 of two multiples of a_t and a_{t-1}; for OGD replay = 0. */
        const lanes rho = g->h[v] - target, replay = g->replay[v];
        const lanes surprise = rho * (rho * energy - 2.0 * cross * replay) + replay * replay * last_energy;
        const lanes away = g->h[v] - prediction; /* a squared loss lies half of its square above its tangent */
        g->drift[v] += 0.5 * (g->step[v] * surprise - away * away) - g->lead[v];

        /* base <- base - k a: norm(base - k a)^2 = norm(base)^2 - 2 k <a, base> + k^2 norm(a)^2,
         * <a, base - k a> = <a, base> - k norm(a)^2. W itself has a rank-one change to come: s W - k a = s (W - (k/s) a). */
        const lanes k = g->step[v] * rho;
        g->pending[v] = k * g->inverse[v];
        g->norm[v] += k * (k * energy - 2.0 * g->z[v]);
        g->z[v] -= k * energy;
        farthest = larger(farthest, g->norm[v]);
    }
    if (largest(farthest) > radius2) project_bases(g);

    /* The extra step x <- Proj[base - q a], q = eta rhat, by the same two identities. OGD has q = 0. */
    farthest = all(0.0);
    INDEPENDENT
    for (int64_t v = 0; v < vectors; v++) {
        g->replay[v] = g->extra[v] * (g->z[v] - target);
        g->ahead[v] = g->step[v] * g->replay[v];
        g->beyond[v] = g->norm[v] + g->ahead[v] * (g->ahead[v] * energy - 2.0 * g->z[v]);
        g->shrink[v] = all(1.0);
        farthest = larger(farthest, g->beyond[v]);
    }
    if (largest(farthest) > radius2) project_points(g);

    lanes weighed_coming = all(0.0);
    INDEPENDENT
    for (int64_t v = 0; v < vectors; v++) {
        /* norm(x - base)^2 with x - base = (u - 1) base - u q a. */
        const lanes back = g->shrink[v] - 1.0, uq = g->shrink[v] * g->ahead[v];
        g->lead[v] = (back * (back * g->norm[v] - 2.0 * uq * g->z[v]) + uq * uq * energy) * (0.5 / g->step[v]);
        g->coming[v] = g->shrink[v] * g->z[v] - uq * energy;
        weighed_coming += g->weight[v] * g->coming[v];
    }

#if defined STAGES && STAGES < 3
    return prediction;
#endif
    /* beta = 1 / (1 + exp(kappa (Dv - Ds))), with norm(g - Mv)^2 - norm(g)^2 = norm(Mv)^2 - 2 <g, Mv>. */
    g->trust_difference += g->candidate * (g->candidate * last_energy - 2.0 * residual * cross);
    const double tail = exp(-g->kappa * fabs(g->trust_difference));
    const double trust = (g->trust_difference > 0 ? tail : 1.0) / (1.0 + tail);
    g->candidate = sum(weighed_coming) * normaliser - target; /* Mv = candidate a_t, at xbar: old weights, new points */
    g->last_energy = energy;

    const double half_range = 0.5 * (largest(high) + largest(-low));
    g->mismatch += half_range * half_range;
    g->rate = fmin(g->rate, sqrt(0.5 * g->entropy / (g->offset + g->mismatch)));

    /* p ~ exp(-rate (cumulative + m)), shifted so that the best expert has exp(0). */
    const double slope = trust * g->candidate, rate = g->rate;
    lanes best = all(-DBL_MAX), total = all(0.0);
    INDEPENDENT
    for (int64_t v = 0; v < vectors; v++) {
        g->guess[v] = slope * g->coming[v];
        best = larger(best, g->advantage[v] - g->guess[v]);
    }
    const double top = largest(best);
    INDEPENDENT
    for (int64_t v = 0; v < vectors; v++) {
        g->weight[v] = g->live[v] * exponentials(rate * (g->advantage[v] - g->guess[v] - top));
        total += g->weight[v];
    }
    g->weight_sum = sum(total);
    return prediction;
}

/* W <- W - pending a', then z = <a, W>: one read and one write of `experts` columns (a constant where this is inlined, so
 * that the sums stay in registers). Even and odd features have sums of their own, or each would wait for the last. */
static inline __attribute__((always_inline)) void pass(const int experts, int64_t dim, int64_t vectors, lanes *restrict W,
    const lanes *restrict pending, const double *restrict last, const double *restrict now, lanes *restrict z)
{
    const int count = experts / WIDTH;
    lanes even[16 / WIDTH], odd[16 / WIDTH], wait[16 / WIDTH];
    for (int i = 0; i < count; i++) {
        even[i] = odd[i] = all(0.0);
        wait[i] = pending[i];
    }
    int64_t j = 0;
    for (; j + 1 < dim; j += 2) {
        lanes *restrict row = W + j * vectors, *restrict next = row + vectors;
        SIDE_BY_SIDE
        for (int i = 0; i < count; i++) {
            row[i] -= last[j] * wait[i];
            even[i] += now[j] * row[i];
        }
        SIDE_BY_SIDE
        for (int i = 0; i < count; i++) {
            next[i] -= last[j + 1] * wait[i];
            odd[i] += now[j + 1] * next[i];
        }
    }
    if (j < dim)
        for (int i = 0; i < count; i++) {
            W[j * vectors + i] -= last[j] * wait[i];
            even[i] += now[j] * W[j * vectors + i];
        }
    for (int i = 0; i < count; i++) z[i] = even[i] + odd[i];
}

/* The rare work on all of W, which must have no change pending: fold the scales into it, recompute the norms from it. */
static void fold_and_refresh(game *g)
{
    for (int64_t v = 0; v < g->vectors; v++) {
        lanes norm = all(0.0);
        for (int64_t j = 0; j < g->dim; j++) {
            lanes *w = g->W + j * g->vectors + v;
            *w *= g->scale[v];
            norm += *w * *w;
        }
        g->norm[v] = norm;
        g->scale[v] = g->inverse[v] = all(1.0);
    }
    g->tiny = 0;
}

static void apply_pending(game *g, const double *last)
{
    for (int64_t j = 0; j < g->dim; j++)
        for (int64_t v = 0; v < g->vectors; v++) g->W[j * g->vectors + v] -= last[j] * g->pending[v];
    for (int64_t v = 0; v < g->vectors; v++) g->pending[v] = all(0.0);
}

/* settings: radius, rate cap, offset of the rate, kappa. Returns the memory to free, or NULL where there is none. */
static void *begin(game *g, int64_t dim, int64_t extra_gradient, int64_t gradient_descent, const double *steps,
    const double *settings)
{
    const int64_t experts = extra_gradient + gradient_descent, padded = (experts + PADDING - 1) / PADDING * PADDING;
    *g = (game){.vectors = padded / WIDTH, .dim = dim};
    g->radius = settings[0];
    g->offset = settings[2];
    g->kappa = settings[3];
    lanes **arrays[] = {&g->live, &g->extra, &g->step, &g->scale, &g->inverse, &g->norm, &g->pending, &g->z, &g->h, &g->replay,
        &g->ahead, &g->shrink, &g->beyond, &g->lead, &g->coming, &g->guess, &g->weight, &g->advantage, &g->drift};
    const size_t count = sizeof arrays / sizeof *arrays, bytes = (count + (size_t)dim) * (size_t)padded * sizeof(double);
    lanes *memory = aligned_alloc(64, bytes);
    if (!memory) return NULL;
    memset(memory, 0, bytes);
    for (size_t i = 0; i < count; i++) *arrays[i] = memory + i * (size_t)g->vectors;
    g->W = memory + count * (size_t)g->vectors;
    for (int64_t i = 0; i < padded; i++) {
        const int64_t expert = i < experts ? i : experts - 1;
        set_lane(g->live, i, i < experts);
        set_lane(g->weight, i, i < experts);
        set_lane(g->extra, i, expert < extra_gradient);
        set_lane(g->step, i, steps[expert]);
        set_lane(g->scale, i, 1.0);
        set_lane(g->inverse, i, 1.0);
        set_lane(g->shrink, i, 1.0);
    }
    g->weight_sum = (double)experts;
    g->entropy = log((double)experts);
    g->rate = fmin(settings[1], sqrt(0.5 * g->entropy / g->offset));
    return memory;
}

static int end(const game *g, void *memory, int64_t experts, double *weights, double *advantage, double *drift)
{
    for (int64_t i = 0; i < experts; i++) {
        weights[i] = lane(g->weight, i) / g->weight_sum;
        advantage[i] = lane(g->advantage, i);
        drift[i] = lane(g->drift, i);
    }
    free(memory);
    return 1;
}

/* features: (rounds, dim), row-major. predictions: (rounds,); weights, advantage, drift: (experts,). Returns 1, or 0 where
 * memory was short. */
int swordbest_dense(int64_t rounds, int64_t dim, int64_t extra_gradient, int64_t gradient_descent, const double *steps,
    const double *settings, const double *features, const double *targets, double *predictions, double *weights,
    double *advantage, double *drift)
{
    game g;
    void *memory = begin(&g, dim, extra_gradient, gradient_descent, steps, settings);
    if (!memory) return 0;
    const double *last = features; /* in round 1 the pending change is 0, so any row will do */
    for (int64_t t = 0; t < rounds; t++) {
        const double *now = features + t * dim;
        if (g.tiny || (t % REFRESH_ROUNDS == 0 && t)) {
            apply_pending(&g, last);
            fold_and_refresh(&g);
        }
        const int64_t block = 16 / WIDTH;
        int64_t v = 0;
        for (; v + block <= g.vectors; v += block) pass(16, dim, g.vectors, g.W + v, g.pending + v, last, now, g.z + v);
        if (v < g.vectors) pass(8, dim, g.vectors, g.W + v, g.pending + v, last, now, g.z + v);
        predictions[t] = settle(&g, dot(now, last, dim), dot(now, now, dim), targets[t]);
        last = now;
    }
    return end(&g, memory, extra_gradient + gradient_descent, weights, advantage, drift);
}

/* The same for rows in CSR with sorted columns: only the rows of W that a feature names are touched. Two rounds name
 * different rows, so the change cannot wait for the next pass; the rows are still in the nearest cache when it is made. */
int swordbest_sparse(int64_t rounds, int64_t dim, int64_t extra_gradient, int64_t gradient_descent, const double *steps,
    const double *settings, const int64_t *starts, const int32_t *columns, const double *values, const double *targets,
    double *predictions, double *weights, double *advantage, double *drift)
{
    game g;
    void *memory = begin(&g, dim, extra_gradient, gradient_descent, steps, settings);
    if (!memory) return 0;
    /* A refresh reads all of W: thin it out to a few hundredths of the work of the rounds in between. */
    const int64_t touched = rounds ? starts[rounds] / rounds + 1 : 1, thin = 64 * (dim / touched);
    const int64_t refresh = thin > REFRESH_ROUNDS ? thin : REFRESH_ROUNDS;
    int64_t last_first = 0, last_end = 0;
    for (int64_t t = 0; t < rounds; t++) {
        const int64_t first = starts[t], beyond = starts[t + 1];
        if (g.tiny || (t % refresh == 0 && t)) fold_and_refresh(&g);
        double cross = 0.0, energy = 0.0;
        for (int64_t v = 0; v < g.vectors; v++) g.z[v] = all(0.0);
        for (int64_t j = first, i = last_first; j < beyond; j++) {
            while (i < last_end && columns[i] < columns[j]) i++;
            if (i < last_end && columns[i] == columns[j]) cross += values[i] * values[j];
            energy += values[j] * values[j];
            const lanes *row = g.W + columns[j] * g.vectors;
            INDEPENDENT
            for (int64_t v = 0; v < g.vectors; v++) g.z[v] += values[j] * row[v];
        }
        predictions[t] = settle(&g, cross, energy, targets[t]);
        for (int64_t j = first; j < beyond; j++) {
            lanes *row = g.W + columns[j] * g.vectors;
            INDEPENDENT
            for (int64_t v = 0; v < g.vectors; v++) row[v] -= values[j] * g.pending[v];
        }
        last_first = first;
        last_end = beyond;
    }
    return end(&g, memory, extra_gradient + gradient_descent, weights, advantage, drift);
}

/* Nothing but registers: what a machine gives a second thread that shares no memory with the first. */
double spin(int64_t turns)
{
    double a = 1.0, b = 2.0, c = 3.0, d = 4.0;
    for (int64_t t = 0; t < turns; t++) {
        a = a * 0.999 + 1.0;
        b = b * 0.998 + 1.0;
        c = c * 0.997 + 1.0;
        d = d * 0.996 + 1.0;
    }
    return a + b + c + d;
}
