#include "solve/interior.hpp"

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>

namespace berth::solve {

namespace {

using Vector = Eigen::VectorXd;
using Sparse = Eigen::SparseMatrix<double>;
using Index = Eigen::Index;

constexpr double kClose = 1e-8;  ///< Residuals, and products of distances and prices, at the end.
constexpr double kFirm = 1e-8;   ///< Keeps pivots from zero; refinement makes up for it.
constexpr int kMostRefining = 9;
constexpr double kCentred = 0.01;   ///< By how much those products differ at the end.
constexpr double kToBound = 0.995;  ///< Of the way to the next bound.
constexpr int kMostCentring = 20;

/// The matrix of the rows, of which only the last column changes, and where it is now.
class Rows {
 public:
  explicit Rows(const ConvexProgram& program)
      : rows_(program.rows), last_(static_cast<Index>(program.columns) - 1) {
    std::vector<Eigen::Triplet<double>> entries;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto row = static_cast<Index>(i);
      for (const Term& term : rows_[i].terms) {
        entries.emplace_back(row, static_cast<Index>(term.column),
                             static_cast<double>(term.factor) / kMillion);
      }
      if (rows_[i].work > 0) entries.emplace_back(row, last_, 0.0);
    }
    straight_.resize(static_cast<Index>(rows_.size()), last_ + 1);
    straight_.setFromTriplets(entries.begin(), entries.end());
  }

  Index count() const { return static_cast<Index>(rows_.size()); }
  /// The distance of each row from its bound.
  Vector distance(const Vector& x) const {
    Vector distance = straight_ * x;
    for (Index i = 0; i < count(); ++i) {
      const ConcaveRow& row = at(i);
      distance[i] += row.constant;
      if (row.work > 0) distance[i] -= row.work / (x[last_] + row.offset);
    }
    return distance;
  }
  Sparse slopes(const Vector& x) const {
    Sparse slopes = straight_;
    for (Index i = 0; i < count(); ++i) {
      const ConcaveRow& row = at(i);
      const double at_last = x[last_] + row.offset;
      if (row.work > 0) slopes.coeffRef(i, last_) += row.work / (at_last * at_last);
    }
    return slopes;
  }
  /// How much the rows bend along the last column, at these prices.
  double bend(const Vector& x, const Vector& prices) const {
    double bend = 0;
    for (Index i = 0; i < count(); ++i) {
      const double at_last = x[last_] + at(i).offset;
      if (at(i).work > 0) bend += 2 * prices[i] * at(i).work / (at_last * at_last * at_last);
    }
    return bend;
  }

 private:
  const ConcaveRow& at(Index row) const { return rows_[static_cast<std::size_t>(row)]; }

  const std::vector<ConcaveRow>& rows_;
  Index last_;
  Sparse straight_;
};

/// How far one may go before the first of `from` reaches zero, at most 1.
double room(const Vector& from, const Vector& by) {
  double room = 1;
  for (Index i = 0; i < from.size(); ++i) {
    if (by[i] < 0) room = std::min(room, -kToBound * from[i] / by[i]);
  }
  return room;
}

double largest(const Vector& values) {
  return values.size() == 0 ? 0 : values.lpNorm<Eigen::Infinity>();
}

class Path {
 public:
  explicit Path(const ConvexProgram& program)
      : rows_(program),
        gain_(Vector::Zero(static_cast<Index>(program.columns))),
        x_(Vector::Ones(gain_.size())),
        x_price_(Vector::Ones(gain_.size())),
        price_(Vector::Ones(rows_.count())) {
    for (const Term& term : program.gain) {
      gain_[static_cast<Index>(term.column)] = static_cast<double>(term.factor) / kMillion;
    }
    if (largest(gain_) > 0) gain_ /= largest(gain_);
    slack_ = rows_.distance(x_).cwiseMax(1.0);
  }

  std::optional<std::vector<double>> follow() {
    for (int steps = 0; !is_close(); ++steps) {
      if (steps == kMostSteps || !advance()) return std::nullopt;
    }
    for (int steps = 0; !is_centred(); ++steps) {
      if (steps == kMostCentring || !centre()) return std::nullopt;
    }
    return std::vector<double>(x_.begin(), x_.end());
  }

 private:
  /// Distances and prices of columns and rows.
  struct Move {
    Vector x, x_price, slack, price;
  };

  double mean() const {
    return (x_.dot(x_price_) + slack_.dot(price_)) / static_cast<double>(x_.size() + slack_.size());
  }
  Vector dual_residual(const Sparse& slopes) const {
    return -gain_ - slopes.transpose() * price_ - x_price_;
  }
  bool is_close() const {
    const Sparse slopes = rows_.slopes(x_);
    return mean() <= kClose && largest(rows_.distance(x_) - slack_) <= kClose &&
           largest(dual_residual(slopes)) <= kClose;
  }
  bool is_centred() const {
    const auto off = [](const Vector& a, const Vector& b) {
      return largest(((a.array() * b.array()) / kClose - 1).matrix());
    };
    return off(x_, x_price_) <= kCentred && off(slack_, price_) <= kCentred;
  }

  /// Factorizes the Newton system where it is now: columns, then rows. Returns: whether that is
  /// possible.
  bool factorize() {
    const Sparse slopes = rows_.slopes(x_);
    const Index columns = x_.size();
    std::vector<Eigen::Triplet<double>> entries;
    for (Index i = 0; i < columns; ++i) entries.emplace_back(i, i, x_price_[i] / x_[i]);
    entries.emplace_back(columns - 1, columns - 1, rows_.bend(x_, price_));
    for (Index i = 0; i < slack_.size(); ++i) {
      entries.emplace_back(columns + i, columns + i, -slack_[i] / price_[i]);
    }
    for (Index column = 0; column < columns; ++column) {
      for (Sparse::InnerIterator at(slopes, column); at; ++at) {
        entries.emplace_back(columns + at.row(), column, -at.value());
      }
    }
    system_.resize(columns + slack_.size(), columns + slack_.size());
    system_.setFromTriplets(entries.begin(), entries.end());
    Sparse firm = system_;
    for (Index i = 0; i < firm.cols(); ++i) firm.coeffRef(i, i) += i < columns ? kFirm : -kFirm;
    if (!is_ordered_) newton_.analyzePattern(firm);
    is_ordered_ = true;
    newton_.factorize(firm);
    dual_ = dual_residual(slopes);
    primal_ = rows_.distance(x_) - slack_;
    return newton_.info() == Eigen::Success;
  }

  Vector solved(const Vector& right) const {
    Vector solution = newton_.solve(right);
    for (int i = 0; i < kMostRefining; ++i) {
      const Vector off = right - system_.selfadjointView<Eigen::Lower>() * solution;
      if (largest(off) <= 1e-14 * std::max(1.0, largest(right))) break;
      solution += newton_.solve(off);
    }
    return solution;
  }

  /// The step that makes each product of distance and price what `x_to` and `to` say.
  Move step(const Vector& x_to, const Vector& to) const {
    Vector right(x_.size() + slack_.size());
    right << -dual_ + (x_to.array() / x_.array()).matrix() - x_price_,
        primal_ - (to.array() / price_.array()).matrix() + slack_;
    const Vector both = solved(right);
    Move move{
        .x = both.head(x_.size()), .x_price = {}, .slack = {}, .price = both.tail(slack_.size())};
    move.x_price =
        ((x_to.array() - x_price_.array() * move.x.array()) / x_.array()).matrix() - x_price_;
    move.slack =
        ((to.array() - slack_.array() * move.price.array()) / price_.array()).matrix() - slack_;
    return move;
  }

  /// Returns: whether there is anywhere to go.
  bool take(const Move& move) {
    const double part = std::min({room(x_, move.x), room(x_price_, move.x_price),
                                  room(slack_, move.slack), room(price_, move.price)});
    x_ += part * move.x;
    x_price_ += part * move.x_price;
    slack_ += part * move.slack;
    price_ += part * move.price;
    return std::isfinite(mean()) && part > 0;
  }

  /// Mehrotra's predictor and corrector.
  bool advance() {
    if (!factorize()) return false;
    const Vector none_x = Vector::Zero(x_.size());
    const Vector none = Vector::Zero(slack_.size());
    const Move guess = step(none_x, none);
    const double part = std::min({room(x_, guess.x), room(x_price_, guess.x_price),
                                  room(slack_, guess.slack), room(price_, guess.price)});
    const double after = ((x_ + part * guess.x).dot(x_price_ + part * guess.x_price) +
                          (slack_ + part * guess.slack).dot(price_ + part * guess.price)) /
                         static_cast<double>(x_.size() + slack_.size());
    const double target = std::max(std::pow(after / mean(), 3) * mean(), kClose / 10);
    const Vector x_to = (target - guess.x.array() * guess.x_price.array()).matrix();
    const Vector to = (target - guess.slack.array() * guess.price.array()).matrix();
    return take(step(x_to, to));
  }

  bool centre() {
    return factorize() &&
           take(step(Vector::Constant(x_.size(), kClose), Vector::Constant(slack_.size(), kClose)));
  }

  Rows rows_;
  Vector gain_;
  Vector x_;        ///< Of columns, which are their own distances from zero.
  Vector x_price_;  ///< Lagrange multipliers of columns.
  Vector price_;    ///< Those of rows.
  Vector slack_;    ///< Distances of rows, once these agree.
  Vector dual_;
  Vector primal_;
  Sparse system_;
  Eigen::SimplicialLDLT<Sparse, Eigen::Lower, Eigen::AMDOrdering<int>> newton_;
  bool is_ordered_ = false;
};

}  // namespace

std::optional<std::vector<double>> best_of(const ConvexProgram& program) {
  return Path(program).follow();
}

}  // namespace berth::solve
