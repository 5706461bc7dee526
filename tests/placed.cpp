#include "placed.hpp"

#include <utility>

namespace heed::test {
namespace {

Code poison_of(heed_type type) {
  constexpr Code codes[] = {0x7FDEAD00u, 0x7FDEu, 0x7FDEu, 127u, 0x7Fu, 0x7Fu};  // NaN in all but int8
  return codes[type];
}

}  // namespace

Placed::Placed(heed_type type, std::int64_t batches, std::int64_t heads, std::int64_t tokens, std::int64_t columns,
               Random& random)
    : type_(type), element_(bytes_of(type)), counts_{batches, heads, tokens} {
  int order[3] = {0, 1, 2};  // outermost first
  std::swap(order[0], order[random.between(0, 1)]);
  std::swap(order[1], order[random.between(1, 2)]);
  const bool gaps = random.once_in(2), backwards = random.once_in(4);
  std::int64_t stride = columns + (gaps ? random.between(0, 4) : 0);
  for (int n = 3; n-- > 0;) {
    const int axis = order[n];
    strides_[axis] = stride;
    if (backwards) first_ += (counts_[axis] > 0 ? counts_[axis] - 1 : 0) * stride;
    stride = stride * counts_[axis] + (gaps ? random.between(0, 4) : 0);
  }
  if (backwards) {
    for (std::int64_t& s : strides_) s = -s;
  }
  const std::int64_t before = random.between(0, 3);  // so that no vector need be aligned
  first_ += before;
  bytes_.resize(static_cast<std::size_t>(before + stride + 1) * element_);
  const Code poison = poison_of(type);
  for (std::size_t at = 0; at < bytes_.size(); at += element_) put(type, bytes_.data() + at, poison);
}

heed_tensor Placed::view(std::int64_t first) const {
  const auto stride = [&](int axis) { return counts_[axis] == 1 ? 0 : strides_[axis]; };
  return {bytes_.data() + static_cast<std::size_t>(first_ + first) * element_, stride(0), stride(1), stride(2), type_};
}

heed_tensor_out Placed::out() {
  const heed_tensor all = view();
  return {const_cast<void*>(all.data), all.stride_batch, all.stride_head, all.stride_token, type_};
}

std::size_t Placed::offset(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column) const {
  return static_cast<std::size_t>(first_ + b * strides_[0] + h * strides_[1] + t * strides_[2] + column) * element_;
}

void Placed::set_code(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column, Code code) {
  put(type_, bytes_.data() + offset(b, h, t, column), code);
}

void Placed::set(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column, float x) {
  if (type_ == HEED_INT8) {
    set_code(b, h, t, column, static_cast<Code>(static_cast<std::int32_t>(x)));
  } else {
    set_code(b, h, t, column, encoded(type_, x));
  }
}

Code Placed::code(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column) const {
  return code_at(type_, bytes_.data() + offset(b, h, t, column));
}

Code Placed::take(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t column) {
  const Code found = code(b, h, t, column);
  set_code(b, h, t, column, poison_of(type_));
  return found;
}

bool Placed::untouched() const {
  const Code poison = poison_of(type_);
  for (std::size_t at = 0; at < bytes_.size(); at += element_) {
    if (code_at(type_, bytes_.data() + at) != poison) return false;
  }
  return true;
}

}  // namespace heed::test
