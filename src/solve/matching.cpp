#include "solve/matching.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <span>
#include <utility>

namespace berth::solve {

namespace {

using Node = std::uint32_t;  ///< A node, or above `nodes_` a blossom; 0: none.

/// One connected graph, whose nodes are numbered from 1. Trees of alternating paths grow from all
/// single nodes at once. Labels are the duals, doubled, so that each is a whole number.
class Blossoms {
 public:
  Blossoms(Node nodes, std::span<const Edge> edges)
      : nodes_(nodes), used_(nodes), all_(nodes + nodes / 2 + 1), links_(all_, Links(all_)) {
    std::int64_t heaviest = 0;
    for (const auto& [one, other, weight] : edges) {
      links_[one][other] = {one, other, weight};
      links_[other][one] = {other, one, weight};
      heaviest = std::max(heaviest, weight);
    }
    for (auto* const each : {&match_, &slack_, &top_, &parent_, &seen_}) each->resize(all_);
    label_.resize(all_);
    kind_.resize(all_);
    rings_.resize(all_);
    inner_.resize(all_, std::vector<Node>(nodes + 1));
    for (Node node = 1; node <= nodes_; ++node) {
      label_[node] = heaviest;
      top_[node] = inner_[node][node] = node;
    }
  }

  /// The partner of each node, by number; 0: it is single.
  const std::vector<Node>& best() {
    while (find_path()) continue;
    return match_;
  }

 private:
  enum class Kind : std::uint8_t { Free, Outer, Inner };
  struct Link {
    Node from = 0;  ///< Nodes, also where a blossom is linked.
    Node to = 0;
    std::int64_t weight = 0;
  };
  using Links = std::vector<Link>;
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

  std::int64_t slack(const Link& link) const {
    return label_[link.from] + label_[link.to] - 2 * links_[link.from][link.to].weight;
  }
  bool is_top(Node x) const { return top_[x] == x; }

  void offer_slack(Node from, Node x) {
    if (slack_[x] == 0 || slack(links_[from][x]) < slack(links_[slack_[x]][x])) slack_[x] = from;
  }
  void find_slack(Node x) {
    slack_[x] = 0;
    for (Node node = 1; node <= nodes_; ++node) {
      const bool is_linked = links_[node][x].weight > 0 && top_[node] != x;
      if (is_linked && kind_[top_[node]] == Kind::Outer) offer_slack(node, x);
    }
  }
  void enqueue(Node x) {
    if (x <= nodes_) return queue_.push(x);
    for (const Node part : rings_[x]) enqueue(part);
  }
  void set_top(Node x, Node top) {
    top_[x] = top;
    if (x <= nodes_) return;
    for (const Node part : rings_[x]) set_top(part, top);
  }

  /// Turns the ring so that the way from its base to this part is even. Returns: its place then.
  std::size_t even_way(Node blossom, Node part) {
    auto& ring = rings_[blossom];
    const auto place = static_cast<std::size_t>(std::ranges::find(ring, part) - ring.begin());
    if (place % 2 == 0) return place;
    std::reverse(ring.begin() + 1, ring.end());
    return ring.size() - place;
  }

  void set_match(Node x, Node other) {
    const Link link = links_[x][other];
    match_[x] = link.to;
    if (x <= nodes_) return;
    const Node part = inner_[x][link.from];
    const std::size_t place = even_way(x, part);
    auto& ring = rings_[x];
    for (std::size_t i = 0; i < place; ++i) set_match(ring[i], ring[i ^ 1]);
    set_match(part, other);
    std::rotate(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(place), ring.end());
  }
  void augment(Node x, Node other) {
    while (true) {
      const Node next = top_[match_[x]];
      set_match(x, other);
      if (next == 0) return;
      set_match(next, top_[parent_[next]]);
      x = top_[parent_[next]];
      other = next;
    }
  }
  /// Where the ways to the roots meet; 0: in different trees.
  Node common_root(Node one, Node other) {
    for (++round_; one != 0 || other != 0; std::swap(one, other)) {
      if (one == 0) continue;
      if (seen_[one] == round_) return one;
      seen_[one] = round_;
      one = top_[match_[one]];
      if (one != 0) one = top_[parent_[one]];
    }
    return 0;
  }

  void add_way(std::vector<Node>& ring, Node from, Node root) {
    while (from != root) {
      const Node partner = top_[match_[from]];
      ring.push_back(from);
      ring.push_back(partner);
      enqueue(partner);
      from = top_[parent_[partner]];
    }
  }
  void add_blossom(Node one, Node root, Node other) {
    Node blossom = nodes_ + 1;
    while (blossom <= used_ && top_[blossom] != 0) ++blossom;
    used_ = std::max(used_, blossom);
    label_[blossom] = 0;
    kind_[blossom] = Kind::Outer;
    match_[blossom] = match_[root];
    auto& ring = rings_[blossom];
    ring = {root};
    add_way(ring, one, root);
    std::reverse(ring.begin() + 1, ring.end());
    add_way(ring, other, root);
    set_top(blossom, blossom);
    for (Node x = 1; x <= used_; ++x) links_[blossom][x].weight = links_[x][blossom].weight = 0;
    std::ranges::fill(inner_[blossom], 0);
    for (const Node part : ring) {
      for (Node x = 1; x <= used_; ++x) {
        const Link& best = links_[blossom][x];
        const Link& link = links_[part][x];
        if (link.weight == 0) continue;
        if (best.weight != 0 && slack(link) >= slack(best)) continue;
        links_[blossom][x] = link;
        links_[x][blossom] = links_[x][part];
      }
      for (Node node = 1; node <= nodes_; ++node) {
        if (inner_[part][node] != 0) inner_[blossom][node] = part;
      }
    }
    find_slack(blossom);
  }
  void expand_blossom(Node blossom) {
    const auto& ring = rings_[blossom];
    for (const Node part : ring) set_top(part, part);
    const Node entry = inner_[blossom][links_[blossom][parent_[blossom]].from];
    const std::size_t place = even_way(blossom, entry);
    for (std::size_t i = 0; i < place; i += 2) {
      const Node in = ring[i];
      const Node out = ring[i + 1];
      parent_[in] = links_[out][in].from;
      kind_[in] = Kind::Inner;
      kind_[out] = Kind::Outer;
      slack_[in] = 0;
      find_slack(out);
      enqueue(out);
    }
    kind_[entry] = Kind::Inner;
    parent_[entry] = parent_[blossom];
    for (std::size_t i = place + 1; i < ring.size(); ++i) {
      kind_[ring[i]] = Kind::Free;
      find_slack(ring[i]);
    }
    top_[blossom] = 0;
  }

  /// Takes a link without slack from an outer node. Returns: whether a path was found.
  bool take(const Link& link) {
    const Node one = top_[link.from];
    const Node other = top_[link.to];
    if (kind_[other] == Kind::Free) {
      parent_[other] = link.from;
      kind_[other] = Kind::Inner;
      const Node next = top_[match_[other]];
      slack_[other] = slack_[next] = 0;
      kind_[next] = Kind::Outer;
      enqueue(next);
    } else if (kind_[other] == Kind::Outer) {
      const Node root = common_root(one, other);
      if (root == 0) return augment(one, other), augment(other, one), true;
      add_blossom(one, root, other);
    }
    return false;
  }

  bool search_queue() {
    for (; !queue_.empty(); queue_.pop()) {
      const Node node = queue_.front();
      if (kind_[top_[node]] == Kind::Inner) continue;
      for (Node other = 1; other <= nodes_; ++other) {
        const Link link = links_[node][other];
        if (link.weight == 0 || top_[node] == top_[other]) continue;
        if (slack(link) > 0) {
          offer_slack(node, top_[other]);
        } else if (take(link)) {
          return true;
        }
      }
    }
    return false;
  }

  std::int64_t least_step() const {
    std::int64_t step = kInfinite;
    for (Node x = 1; x <= used_; ++x) {
      if (!is_top(x)) continue;
      if (x > nodes_ && kind_[x] == Kind::Inner) step = std::min(step, label_[x] / 2);
      if (slack_[x] == 0 || kind_[x] == Kind::Inner) continue;
      const std::int64_t here = slack(links_[slack_[x]][x]);
      step = std::min(step, kind_[x] == Kind::Free ? here : here / 2);
    }
    return step;
  }
  /// Returns: false if a single node's label is used up, so that the matching is best.
  bool move_labels(std::int64_t step) {
    for (Node node = 1; node <= nodes_; ++node) {
      if (kind_[top_[node]] == Kind::Outer && label_[node] <= step) return false;
    }
    for (Node node = 1; node <= nodes_; ++node) {
      const Kind kind = kind_[top_[node]];
      if (kind == Kind::Outer) label_[node] -= step;
      if (kind == Kind::Inner) label_[node] += step;
    }
    for (Node blossom = nodes_ + 1; blossom <= used_; ++blossom) {
      if (!is_top(blossom)) continue;
      if (kind_[blossom] == Kind::Outer) label_[blossom] += 2 * step;
      if (kind_[blossom] == Kind::Inner) label_[blossom] -= 2 * step;
    }
    return true;
  }

  /// One more pair, if the best matching has more. O(nodes^2).
  bool find_path() {
    std::ranges::fill(kind_, Kind::Free);
    std::ranges::fill(slack_, 0);
    queue_ = {};
    for (Node x = 1; x <= used_; ++x) {
      if (!is_top(x) || match_[x] != 0) continue;
      parent_[x] = 0;
      kind_[x] = Kind::Outer;
      enqueue(x);
    }
    if (queue_.empty()) return false;
    while (true) {
      if (search_queue()) return true;
      if (!move_labels(least_step())) return false;
      queue_ = {};
      for (Node x = 1; x <= used_; ++x) {
        if (!is_top(x) || slack_[x] == 0 || top_[slack_[x]] == x) continue;
        const Link link = links_[slack_[x]][x];
        if (slack(link) == 0 && take(link)) return true;
      }
      for (Node blossom = nodes_ + 1; blossom <= used_; ++blossom) {
        const bool is_over = is_top(blossom) && kind_[blossom] == Kind::Inner;
        if (is_over && label_[blossom] == 0) expand_blossom(blossom);
      }
    }
  }

  Node nodes_;
  Node used_;  ///< The highest number of a blossom so far.
  std::size_t all_;
  std::vector<Links> links_;  ///< Of a blossom the ones with least slack.
  std::vector<Node> match_, slack_, top_, parent_, seen_;
  std::vector<std::int64_t> label_;
  std::vector<Kind> kind_;
  std::vector<std::vector<Node>> rings_;  ///< The parts of a blossom, its base first.
  std::vector<std::vector<Node>> inner_;  ///< The part of a blossom that a node is in; 0: none.
  std::queue<Node> queue_;
  Node round_ = 0;
};

bool is_sound(const Matching& matching) {
  std::set<std::pair<Node, Node>> seen;
  return std::ranges::all_of(matching.edges, [&](const Edge& edge) {
    return edge.one != edge.other && std::max(edge.one, edge.other) < matching.nodes &&
           edge.weight >= 0 && edge.weight <= Edge::kMost &&
           seen.insert(std::minmax(edge.one, edge.other)).second;
  });
}

/// For each edge the least node that it hangs together with.
std::vector<Node> graphs_of(const Matching& matching) {
  std::map<Node, Node> up;
  const auto root = [&](Node node) {
    while (up.try_emplace(node, node).first->second != node) node = up[node] = up[up[node]];
    return node;
  };
  for (const Edge& edge : matching.edges) {
    const Node one = root(edge.one);
    const Node other = root(edge.other);
    up[std::max(one, other)] = std::min(one, other);
  }
  std::vector<Node> graphs;
  for (const Edge& edge : matching.edges) graphs.push_back(root(edge.one));
  return graphs;
}

}  // namespace

std::optional<std::vector<bool>> best_matching(const Matching& matching) {
  if (!is_sound(matching)) return std::nullopt;
  std::map<Node, std::vector<std::size_t>> edges_of;
  const std::vector<Node> graphs = graphs_of(matching);
  for (std::size_t i = 0; i < graphs.size(); ++i) edges_of[graphs[i]].push_back(i);
  std::vector<bool> is_pair(matching.edges.size());
  for (const auto& [graph, places] : edges_of) {
    std::map<Node, Node> numbers;
    for (const std::size_t place : places) {
      numbers[matching.edges[place].one] = numbers[matching.edges[place].other] = 0;
    }
    Node number = 0;
    for (auto& [node, its] : numbers) its = ++number;
    std::vector<Edge> edges;
    for (const std::size_t place : places) {
      const Edge& edge = matching.edges[place];
      edges.push_back({numbers[edge.one], numbers[edge.other], edge.weight});
    }
    Blossoms blossoms(number, edges);
    const auto& partners = blossoms.best();
    for (std::size_t i = 0; i < places.size(); ++i) {
      is_pair[places[i]] = partners[edges[i].one] == edges[i].other;
    }
  }
  return is_pair;
}

}  // namespace berth::solve
