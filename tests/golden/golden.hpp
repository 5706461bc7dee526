// The problems of the golden file, by kind. Each function computes its problems on the row of kernels in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed::golden {

struct Line {
  std::string name;  // says the whole problem; a changed problem is a new name
  std::uint64_t hash;
};
using Lines = std::vector<Line>;

void vector_problems(Lines& lines);      // dot, softmax, ALiBi slopes
void matrix_problems(Lines& lines);      // scores, weighted_sum, attend
void conversion_problems(Lines& lines);  // convert, quantize
void shape_problems(Lines& lines);       // attention: lengths, head dimensions, types
void option_problems(Lines& lines);      // attention: every option
void layout_problems(Lines& lines);      // attention: every layout
void special_problems(Lines& lines);     // attention: NaN, infinities, -0, subnormals
void state_problems(Lines& lines);       // states, merges, the cache
void fp8_problems(Lines& lines);         // attention: keys and values of 8 bits
void mixed_problems(Lines& lines);       // attention: several options, types and a layout at once

// Ends the program when a call fails: nothing here may.
void must(std::int32_t code, const std::string& name, const char* message);

}  // namespace heed::golden
