/* The loss of Fast DEC-DFL and its gradient in one call, cohort by cohort (Algorithms 1 to 3, Equation 12).

   It computes the same as `DecDFL(EntropyMixture(...))` with JAX, in the same steps:

     1. the return of every policy of every arm under the predicted transitions  (rmab/policy_tree.py)
     2. the price at which the mixture keeps to the budget                       (mixtures/price.py)
     3. the mixture's shares at that price, and the loss                         (mixtures/budgeted.py)
     4. the gradient, back through the shares, the price and the returns.

   XLA makes about sixty kernels of this, and on a hundred arms starting them takes longer than running them. This is
   one kernel. It computes several arms at the same time, in the lanes of a vector, in the precision of the input. Sums
   over arms, and net returns (after the price of budget), use double precision. So a million arms or a low temperature
   need no special care for rounding, unlike in float32 (mixtures/rounding.py).

   It is compiled once for each NUMBER (float or double), STATES and POLICIES. POLICIES is 2^STATES, all policies in
   counting order, or STATES + 1, the threshold policies. There are two actions. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

#if defined(__AVX512F__)
#define REGISTER 64
#elif defined(__AVX__)
#define REGISTER 32
#else
#define REGISTER 16
#endif

typedef NUMBER Number;
enum { ACTIONS = 2, ARMS = REGISTER / sizeof(Number), LANES = REGISTER / sizeof(double), PARTS = ARMS / LANES };
constexpr bool is_float = sizeof(Number) < sizeof(double);
constexpr double EPSILON = is_float ? 0x1p-23 : 0x1p-52;

/* One number for each arm: a block of ARMS arms in the precision of the input, or in double precision, in PARTS parts.
   The operators of C work on them lane by lane; a comparison gives a mask. */
typedef Number Block __attribute__((vector_size(REGISTER)));
typedef double Lanes __attribute__((vector_size(REGISTER)));
typedef Number Part __attribute__((vector_size(LANES * sizeof(Number))));

static inline Lanes widen(const Block &block, int part) {
  return __builtin_convertvector(reinterpret_cast<const Part *>(&block)[part], Lanes);
}

static inline void narrow(Lanes values, Block *block, int part) {
  reinterpret_cast<Part *>(block)[part] = __builtin_convertvector(values, Part);
}

template <class Vector>
static inline Vector larger(Vector left, Vector right) {
  return left > right ? left : right;
}

/* A sum over arms, to which blocks are added one by one. */
struct Sum {
  Lanes lanes = {};

  void operator+=(const Block &block) {
    for (int part = 0; part < PARTS; part++) lanes += widen(block, part);
  }
  double total() const {
    double total = 0;
    for (int lane = 0; lane < LANES; lane++) total += lanes[lane];
    return total;
  }
};

/* Constants of a floating-point format: −ln of the smallest e^x, ln 2 as a short number and the rest, the number of
   bits in the fraction, and how many terms of the series are enough. */
template <class Vector>
struct Format;
template <>
struct Format<double __attribute__((vector_size(REGISTER)))> {
  typedef int64_t Bits __attribute__((vector_size(REGISTER)));
  static constexpr double depth = 700, log2_head = 0x1.62e42fefa38p-1, log2_tail = 0x1.ef35793c7673p-45;
  static constexpr int fraction = 52, terms = 12;
};
template <>
struct Format<float __attribute__((vector_size(REGISTER)))> {
  typedef int32_t Bits __attribute__((vector_size(REGISTER)));
  static constexpr float depth = 80, log2_head = 0x1.62ep-1f, log2_tail = 0x1.0bfbe8p-15f;
  static constexpr int fraction = 23, terms = 6;
};

/* e^x for x ≤ 0, within a few units in the last place; the result is at least e^-depth.

   x = n ln 2 + rest, |rest| ≤ ln 2 / 2. Adding 1.5 · 2^fraction rounds to the integer n and leaves it in the lowest
   bits; a shift moves it from there to the exponent. */
template <class Vector>
static inline Vector exponential(Vector x) {
  typedef Format<Vector> F;
  typedef decltype(x[0] + 0) Element;
  static constexpr double inverse_factorials[] = {
      1.0,          1.0,           1.0 / 2,        1.0 / 6,         1.0 / 24,         1.0 / 120,        1.0 / 720,
      1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0};
  const Element shift = (Element)(3LL << (F::fraction - 1));
  x = x < -F::depth ? Vector{} - F::depth : x;
  Vector shifted = x * (Element)0x1.71547652b82fep0 + shift, n = shifted - shift;
  Vector rest = (x - n * F::log2_head) - n * F::log2_tail, series = Vector{} + (Element)inverse_factorials[F::terms];
  for (int term = F::terms - 1; term >= 0; term--) series = series * rest + (Element)inverse_factorials[term];
  return (Vector)((typename F::Bits)series + ((typename F::Bits)shifted << F::fraction));
}

/* ---- one cohort ---- */

struct Cohort {
  int64_t arms;
  const Number *transitions;        /* [states, actions, states, arms], predicted */
  const Number *true_reward_returns;       /* [policies, arms]: each policy's reward return under true transitions */
  const Number *true_spend;         /* [policies, arms]: its true spend, minus that of the arm's cheapest */
  const Number *rewards, *initial;  /* [states, arms], or [states] */
  bool by_arm;                      /* whether these have an axis for the arms */
  double discount, temperature;
  double left, widest;              /* the budget: see Spending in mixtures/budgeted.py */
  Number *loss, *gradient;          /* the outputs: a number, and [states, actions, states, arms] */

  /* Predicted returns, later the shares of the mixture; true spend. Lanes without an arm spend nothing. */
  Block *worth, *spend;             /* [blocks, policies] */

  int64_t blocks() const { return (arms + ARMS - 1) / ARMS; }
  int arms_in(int64_t block) const { return arms - block * ARMS < ARMS ? (int)(arms - block * ARMS) : ARMS; }
};

/* A block of a row over the arms; 0 in lanes without an arm. */
static inline Block load(const Number *row, const Cohort &cohort, int64_t block) {
  Block values = {};
  if (cohort.arms_in(block) == ARMS)
    memcpy(&values, row + block * ARMS, sizeof values);
  else
    for (int arm = 0; arm < cohort.arms_in(block); arm++) values[arm] = row[block * ARMS + arm];
  return values;
}

static inline void store(const Block &values, Number *row, const Cohort &cohort, int64_t block) {
  if (cohort.arms_in(block) == ARMS)
    memcpy(row + block * ARMS, &values, sizeof values);
  else
    for (int arm = 0; arm < cohort.arms_in(block); arm++) row[block * ARMS + arm] = values[arm];
}

/* ---- 1. returns: elimination along the tree of policies, depth first ---- */

/* A block's arms after some states are eliminated. There is a row for each action in each remaining state, and a last
   row for the distribution of the first state. There is a column for each remaining state, and a last column for the
   reward that accrues. */
template <int states>
struct Table {
  static constexpr int rows = states * ACTIONS + 1, columns = states + 1;
  Block entry[rows][columns];
};

/* One step down the tree, by an action in the first remaining state. The action's row is repeated until the arm leaves
   the state: `visits` times in expectation. It then leads `onward`. */
template <int states>
struct Step {
  Block visits, onward[states];
  Table<states - 1> child;

  Step(const Table<states> &table, int action) {
    const Block *pivot = table.entry[action];
    visits = 1 / (1 - pivot[0]);
    for (int column = 0; column < states; column++) onward[column] = pivot[column + 1] * visits;
    for (int row = 0; row < child.rows; row++) {
      const Block *old = table.entry[ACTIONS + row];
      for (int column = 0; column < states; column++)
        child.entry[row][column] = old[column + 1] + old[0] * onward[column];
    }
  }
};

/* Threshold policies act in the first states and in no others. */
static inline bool is_policy(int last_action, int action) {
  return POLICIES == 1 << STATES || last_action == 1 || action == 0;
}

/* Writes the returns of the policies below a node, in order; returns the position for the next policy. */
template <int states>
static Block *returns_below(const Table<states> &table, int last_action, Block *returns) {
  if constexpr (states == 0) {
    *returns++ = table.entry[0][0];
  } else {
    for (int action = 0; action < ACTIONS; action++)
      if (is_policy(last_action, action)) returns = returns_below(Step<states>(table, action).child, action, returns);
  }
  return returns;
}

/* The backward pass: from the weights of the returns below a node, computes the weights of its table. */
template <int states>
static const Block *weights_below(const Table<states> &table, int last_action, const Block *weights,
                                  Table<states> *to_table) {
  if constexpr (states == 0) {
    to_table->entry[0][0] = *weights++;
  } else {
    *to_table = {};
    for (int action = 0; action < ACTIONS; action++)
      if (is_policy(last_action, action)) {
        Step<states> step(table, action);
        Table<states - 1> to_child;
        weights = weights_below(step.child, action, weights, &to_child);
        Block to_onward[states] = {}, *to_pivot = to_table->entry[action];
        for (int row = 0; row < to_child.rows; row++) {
          Block arriving = table.entry[ACTIONS + row][0], *to_row = to_table->entry[ACTIONS + row];
          for (int column = 0; column < states; column++) {
            to_row[column + 1] += to_child.entry[row][column];
            to_row[0] += to_child.entry[row][column] * step.onward[column];
            to_onward[column] += to_child.entry[row][column] * arriving;
          }
        }
        for (int column = 0; column < states; column++) {
          to_pivot[column + 1] = to_onward[column] * step.visits;
          to_pivot[0] += to_pivot[column + 1] * step.onward[column];
        }
      }
  }
  return weights;
}

static inline Block per_state(const Cohort &cohort, const Number *values, int64_t block, int state) {
  if (!cohort.by_arm) return Block{} + values[state];
  return load(values + state * cohort.arms, cohort, block);
}

/* The whole arm as a table. */
static void fill_root(const Cohort &cohort, int64_t block, Table<STATES> *table) {
  Number discount = (Number)cohort.discount;
  for (int state = 0; state < STATES; state++) {
    Block reward = per_state(cohort, cohort.rewards, block, state);
    for (int row = state * ACTIONS; row < (state + 1) * ACTIONS; row++) {
      for (int next = 0; next < STATES; next++)
        table->entry[row][next] =
            discount * load(cohort.transitions + (row * STATES + next) * cohort.arms, cohort, block);
      table->entry[row][STATES] = reward;
    }
    table->entry[STATES * ACTIONS][state] = per_state(cohort, cohort.initial, block, state);
  }
  table->entry[STATES * ACTIONS][STATES] = Block{};
}

/* Fills in the returns and spend of all arms. Returns a unit of price: what an average arm would pay for its most
   expensive policy. */
static double fill_worth(Cohort &cohort) {
  Sum gain, cost;
  for (int64_t block = 0; block < cohort.blocks(); block++) {
    Block *worth = cohort.worth + block * POLICIES, *spend = cohort.spend + block * POLICIES;
    Table<STATES> root;
    fill_root(cohort, block, &root);
    returns_below(root, 1, worth);
    Block most = worth[0], least = worth[0], dearest = {};
    for (int policy = 0; policy < POLICIES; policy++) {
      spend[policy] = load(cohort.true_spend + policy * cohort.arms, cohort, block);
      most = larger(most, worth[policy]);
      least = -larger(-least, -worth[policy]);
      dearest = larger(dearest, spend[policy]);
    }
    gain += most - least;
    cost += dearest;
  }
  double dearest = cost.total();
  return (gain.total() + cohort.temperature * (double)cohort.arms) / (dearest > 0 ? dearest : 1);
}

/* ---- 2. the price ---- */

template <class Vector>
static inline void take_best_away(Vector *net) {
  Vector best = net[0];
  for (int policy = 1; policy < POLICIES; policy++) best = larger(best, net[policy]);
  for (int policy = 0; policy < POLICIES; policy++) net[policy] -= best;
}

/* The net returns of a block at a price, minus each arm's best, in temperatures: coarsely in the precision of the
   input, or exactly in double precision. */
static inline void net_coarsely(const Cohort &cohort, const Block *worth, const Block *spend, double price, Block *net) {
  Number charged = (Number)price, scale = (Number)(1 / cohort.temperature);
  for (int policy = 0; policy < POLICIES; policy++) net[policy] = scale * (worth[policy] - charged * spend[policy]);
  take_best_away(net);
}

static inline void net_exactly(const Cohort &cohort, const Block *worth, const Block *spend, double price, Block *net) {
  double scale = 1 / cohort.temperature;
  for (int part = 0; part < PARTS; part++) {
    Lanes exact[POLICIES];
    for (int policy = 0; policy < POLICIES; policy++)
      exact[policy] = scale * (widen(worth[policy], part) - price * widen(spend[policy], part));
    take_best_away(exact);
    for (int policy = 0; policy < POLICIES; policy++) narrow(exact[policy], &net[policy], part);
  }
}

/* The weights of the softmax of the net returns, not yet divided; returns the divisor. The main policy's weight is
   exactly 1. */
static inline Block weigh(Block *net) {
  Block total = {};
  for (int policy = 0; policy < POLICIES; policy++) total += net[policy] = exponential(net[policy]);
  return total;
}

/* The same at an infinite price: the softmax of only the cheapest policies, which spend 0. */
static inline Block weigh_cheapest(Block *net, const Block *spend) {
  Block total = {};
  for (int policy = 0; policy < POLICIES; policy++)
    total += net[policy] = spend[policy] > (Number)0 ? Block{} : exponential(net[policy]);
  return total;
}

/* Sums over all arms: the spend, and how fast it falls with price / temperature. */
struct Spent {
  Sum mean, variance;
};

typedef void (*Net)(const Cohort &, const Block *, const Block *, double, Block *);

template <Net net_of>
static Spent spent_at(const Cohort &cohort, double price) {
  Spent spent;
  for (int64_t block = 0; block < cohort.blocks(); block++) {
    const Block *spend = cohort.spend + block * POLICIES;
    Block weights[POLICIES], mean = {}, variance = {};
    net_of(cohort, cohort.worth + block * POLICIES, spend, price, weights);
    Block total = weigh(weights);
    for (int policy = 0; policy < POLICIES; policy++) mean += weights[policy] * spend[policy];
    mean /= total;
    for (int policy = 0; policy < POLICIES; policy++) {
      Block centred = spend[policy] - mean;
      variance += weights[policy] * centred * centred;
    }
    spent.mean += mean;
    spent.variance += variance / total;
  }
  return spent;
}

/* Newton's method on the logarithm of the spend, in a bracket that grows until it contains the root (mixtures/price.py
   says why). The price is 0 if the spend at price 0 is within the budget. */
static double find_price(const Cohort &cohort, Spent (*spent_at)(const Cohort &, double), double start, double unit,
                         double tolerance, double noise) {
  double budget = cohort.left, near = 2 * EPSILON * fmin(budget, cohort.widest);
  double price = start, lower = 0, upper = INFINITY, lower_value = INFINITY, upper_value = -INFINITY;
  double reach = 8 * unit, last_size = INFINITY, last_move = INFINITY;
  for (int step = 0; step < 100; step++) {
    Spent spent = spent_at(cohort, price);
    double excess = spent.mean.total() - budget, width = upper - lower;
    if (fabs(excess) <= near || (excess <= 0 && price <= 0)) return price;
    double value = log1p(excess / budget);
    double newton = price + value * (excess + budget) * cohort.temperature / spent.variance.total();
    double move = fabs(newton - price);
    if (value <= 0)
      upper = price, upper_value = value;
    else
      lower = price, lower_value = value;
    if (move <= tolerance + 2 * EPSILON * price || (move <= noise && move >= last_move / 2))
      return fmin(fmax(newton, lower), upper);
    if (upper - lower <= 2 * EPSILON * upper && isfinite(upper)) return upper;

    bool trusted = newton > lower && newton < upper && fabs(value) <= last_size / 2;
    bool open_ended = isinf(upper) || isinf(lower_value);
    double next = newton;
    if (open_ended && (isinf(upper) || !trusted)) { /* Newton's step, but at most the reach */
      double direction = isinf(upper) ? 1 : -1;
      bool ahead = direction * (newton - price) > 0 && move < reach;
      next = fmax(ahead ? newton : price + direction * reach, lower);
    } else if (!trusted) { /* the secant, kept away from the ends; the middle if the bracket did not halve */
      double share = upper - lower <= width / 2 ? lower_value / (lower_value - upper_value) : 0.5;
      next = lower + (upper - lower) * fmin(fmax(share, 0.05), 0.95);
    }
    if (fabs(next - price) >= reach / 2) reach *= 8;
    last_size = trusted || open_ended ? fabs(value) : INFINITY;
    last_move = move;
    price = next;
  }
  return price;
}

/* float32 finds an approximate price twice as fast. Then usually a single step in double precision is enough. */
static double price_of(const Cohort &cohort, double unit) {
  double sharpness = cohort.temperature / (cohort.widest > 0 ? cohort.widest : 1), start = 0;
  if (is_float) {
    start = find_price(cohort, spent_at<net_coarsely>, 0, unit, sharpness * pow(EPSILON, 0.25), sharpness * 0.05);
    unit = sharpness;
  }
  return find_price(cohort, spent_at<net_exactly>, isfinite(start) ? start : 0, unit, sharpness * sqrt(EPSILON),
                    sharpness * pow(EPSILON, 0.6));
}

/* ---- 3. shares and loss ---- */

struct Sums {
  Sum spent;     /* spend of the mixture */
  Sum value;     /* true value of the mixture */
  Sum cheapest;  /* true value of the cheapest policies */
  Sum variance;  /* ⟨spend, J spend⟩, with J the Jacobian of the shares in the worth */
  Sum pull;      /* ⟨spend, J true rewards⟩ */
};

static void load_true_reward_returns(const Cohort &cohort, int64_t block, Block *rewards) {
  for (int policy = 0; policy < POLICIES; policy++)
    rewards[policy] = load(cohort.true_reward_returns + policy * cohort.arms, cohort, block);
}

/* J times a direction. Subtracting the main policy's direction avoids cancellation when one share is nearly 1. */
static inline void jacobian_product(const Block *shares, Block *direction) {
  Block most = shares[0], origin = direction[0], mean = {};
  for (int policy = 1; policy < POLICIES; policy++) {
    origin = shares[policy] > most ? direction[policy] : origin;
    most = larger(most, shares[policy]);
  }
  for (int policy = 0; policy < POLICIES; policy++) mean += shares[policy] * (direction[policy] - origin);
  for (int policy = 0; policy < POLICIES; policy++)
    direction[policy] = shares[policy] * ((direction[policy] - origin) - mean);
}

/* Replaces a block's net returns by its shares. */
static void fill_shares(Block *shares, const Block *spend, const Block *rewards, bool attainable, Sums *sums) {
  Block product[POLICIES], origin = {}, cheap = {}, cheap_value = {}, spent = {}, value = {}, variance = {}, pull = {};
  Block total = attainable ? weigh(shares) : weigh_cheapest(shares, spend);
  for (int policy = 0; policy < POLICIES; policy++) {
    origin = shares[policy] == (Number)1 ? rewards[policy] : origin;
    shares[policy] /= total;
    product[policy] = spend[policy];
    spent += shares[policy] * spend[policy];
    value += shares[policy] * rewards[policy];
    Block is_cheap = spend[policy] <= (Number)0 ? Block{} + (Number)1 : Block{};
    cheap += is_cheap;
    cheap_value += is_cheap * rewards[policy];
  }
  jacobian_product(shares, product);
  for (int policy = 0; policy < POLICIES; policy++) {
    variance += product[policy] * spend[policy];
    pull += product[policy] * (rewards[policy] - origin);
  }
  sums->spent += spent;
  sums->value += value;
  sums->cheapest += cheap_value / cheap;
  sums->variance += variance;
  sums->pull += pull;
}

static Sums fill_all_shares(Cohort &cohort, double price, bool attainable) {
  Sums sums;
  for (int64_t block = 0; block < cohort.blocks(); block++) {
    Block *worth = cohort.worth + block * POLICIES, *spend = cohort.spend + block * POLICIES, rewards[POLICIES];
    load_true_reward_returns(cohort, block, rewards);
    for (int policy = 0; policy < POLICIES && !attainable; policy++) /* makes the best cheapest policy the main one */
      worth[policy] = spend[policy] > (Number)0 ? Block{} - (Number)1e30 : worth[policy];
    net_exactly(cohort, worth, spend, price, worth);
    fill_shares(worth, spend, rewards, attainable, &sums);
  }
  return sums;
}

/* ---- 4. the gradient ---- */

/* `push` is how the price responds (Equation 12 by elimination: mixtures/budgeted.py). */
static void fill_gradient(const Cohort &cohort, double push) {
  double scale = cohort.discount / ((double)cohort.arms * cohort.temperature);
  for (int64_t block = 0; block < cohort.blocks(); block++) {
    const Block *shares = cohort.worth + block * POLICIES;
    Block weights[POLICIES], spend_product[POLICIES];
    load_true_reward_returns(cohort, block, weights);
    memcpy(spend_product, cohort.spend + block * POLICIES, sizeof spend_product);
    jacobian_product(shares, weights); /* two products, because a rounded difference would lose digits */
    jacobian_product(shares, spend_product);
    for (int policy = 0; policy < POLICIES; policy++)
      weights[policy] = (Number)(scale * push) * spend_product[policy] - (Number)scale * weights[policy];
    Table<STATES> root, to_root;
    fill_root(cohort, block, &root);
    weights_below(root, 1, weights, &to_root);
    for (int row = 0; row < STATES * ACTIONS; row++)
      for (int next = 0; next < STATES; next++)
        store(to_root.entry[row][next], cohort.gradient + (row * STATES + next) * cohort.arms, cohort, block);
  }
}

static void run(Cohort &cohort) {
  double unit = fill_worth(cohort);
  bool attainable = cohort.left > 0 || (cohort.left == 0 && cohort.widest <= 0);
  cohort.left = fmax(cohort.left, 0);
  double price = attainable ? price_of(cohort, unit) : 0;
  Sums sums = fill_all_shares(cohort, price, attainable);

  /* Rounding or a failed search may leave the mixture over its budget. Move it towards the cheapest policies. */
  double excess = sums.spent.total() - cohort.left, moved = excess > 0 ? excess / (excess + cohort.left) : 0;
  double value = sums.value.total() + moved * (sums.cheapest.total() - sums.value.total());
  *cohort.loss = (Number)(-value / (double)cohort.arms);

  double variance = sums.variance.total();
  fill_gradient(cohort, price > 0 && variance > 0 ? sums.pull.total() / variance : 0);
}

/* ---- what XLA calls ---- */

enum { TRANSITIONS, TRUE_REWARDS, TRUE_SPEND, KNOWN };
enum { NUMBERS = 4 }; /* how many numbers precede the rewards and the first states in KNOWN */

/* The start of a cohort's numbers. Leading axes are the batch axes; all cohorts share an axis of size 1. */
static Number *of_cohort(void *buffer, const XLA_FFI_Buffer *batch, int64_t number) {
  const XLA_FFI_Buffer *array = (XLA_FFI_Buffer *)buffer;
  int64_t place = 0, stride = 1;
  for (int64_t axis = array->rank - 1; axis >= 0; axis--) {
    if (axis < batch->rank) {
      if (array->dims[axis] > 1) place += number % batch->dims[axis] * stride;
      number /= batch->dims[axis];
    }
    stride *= array->dims[axis];
  }
  return (Number *)array->data + place;
}

static XLA_FFI_Error *out_of_memory(const XLA_FFI_Api *api) {
  XLA_FFI_Error_Create_Args error = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL,
                                     "armwise: no memory for the returns of a cohort's policies.",
                                     XLA_FFI_Error_Code_RESOURCE_EXHAUSTED};
  return api->XLA_FFI_Error_Create(&error);
}

extern "C" XLA_FFI_Error *armwise_dec_dfl(XLA_FFI_CallFrame *frame) {
  if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Api_Version *version = &((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata->api_version;
    version->major_version = XLA_FFI_API_MAJOR;
    version->minor_version = XLA_FFI_API_MINOR;
    return NULL;
  }
  void **inputs = frame->args.args, **outputs = frame->rets.rets;
  const XLA_FFI_Buffer *batch = (XLA_FFI_Buffer *)outputs[0]; /* one loss for each cohort */
  int64_t num_cohorts = 1;
  for (int64_t axis = 0; axis < batch->rank; axis++) num_cohorts *= batch->dims[axis];

  Cohort cohort = {};
  cohort.arms = ((XLA_FFI_Buffer *)outputs[1])->dims[batch->rank + 3];
  int64_t known_size = ((XLA_FFI_Buffer *)inputs[KNOWN])->dims[batch->rank] - NUMBERS; /* rewards and first states */
  cohort.by_arm = known_size > 2 * STATES;
  size_t entries = (size_t)cohort.blocks() * POLICIES;
  void *memory = NULL;
  if (posix_memalign(&memory, REGISTER, 2 * entries * REGISTER)) return out_of_memory(frame->api);
  cohort.worth = (Block *)memory;
  cohort.spend = cohort.worth + entries;

  for (int64_t number = 0; number < num_cohorts; number++) {
    cohort.transitions = of_cohort(inputs[TRANSITIONS], batch, number);
    cohort.true_reward_returns = of_cohort(inputs[TRUE_REWARDS], batch, number);
    cohort.true_spend = of_cohort(inputs[TRUE_SPEND], batch, number);
    const Number *known = of_cohort(inputs[KNOWN], batch, number);
    cohort.discount = known[0];
    cohort.temperature = known[1];
    cohort.left = known[2];
    cohort.widest = known[3];
    cohort.rewards = known + NUMBERS;
    cohort.initial = cohort.rewards + known_size / 2;
    cohort.loss = of_cohort(outputs[0], batch, number);
    cohort.gradient = of_cohort(outputs[1], batch, number);
    run(cohort);
  }
  free(memory);
  return NULL;
}
