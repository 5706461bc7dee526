// Which ways there are to lay a content out.
#include <sstream>

#include "option_problem.hpp"

namespace heed::test {

Arrangement home_of(const Content& content) {
  Arrangement how;
  how.seed = content.spec.seed;
  how.paged = content.has(kPaged);
  how.ragged_keys = content.has(kRaggedKeys);
  how.ragged_queries = content.has(kRaggedQueries);
  how.lengths = content.has(kLengths);
  how.begin = how.same_begin = content.has(kBegin);
  how.alignment = content.spec.alignment;
  how.page_size = content.spec.page_size;
  return how;
}

Arrangement draw_arrangement(const Content& content, std::uint64_t seed) {
  Random random(seed);
  Arrangement how;
  how.seed = random.next();
  how.paged = random.between(0, 9) < 4;
  how.ragged_keys = !how.paged && random.once_in(3);
  how.ragged_queries = random.once_in(2);
  how.lengths = random.once_in(2);
  how.begin = random.once_in(3);
  how.widened = random.once_in(3);
  how.lse = !random.once_in(8);
  const OptionSpec& spec = content.spec;
  how.in_place = spec.D == spec.Dv && (how.widened ? HEED_F32 : spec.q) == spec.out && random.between(0, 4) != 0;
  how.alignment = static_cast<heed_alignment>(random.between(HEED_BOTTOM_RIGHT, HEED_OFFSETS));
  how.page_size = random.once_in(2) ? 16 * random.between(1, 8) : random.once_in(3) ? 1 : random.between(2, 70);
  if (content.has(kAbsent)) {
    // A mask callback may not stand beside a mask, and the views before the bias tell a mask from a page that isn't
    // there.
    const bool may_mask = !content.has(kAsked) && (!content.has(kInspected) || content.spec.view >= HEED_SCORES_BIASED);
    how.absent_by_mask = may_mask && random.once_in(2);
    if (!how.absent_by_mask) {
      how.paged = true;
      how.ragged_keys = false;
      how.page_size = random.once_in(2) ? 1 : content.spec.page_size;  // those whose edges the gaps lie on
      how.begin = how.same_begin = how.page_size != 1;
    }
  }
  how.table_rows = !how.ragged_keys && random.once_in(3);
  how.panels = how.paged && how.page_size % 16 == 0 && random.between(0, 3) != 0;
  for (const SequenceContent& s : content.sequences) {
    how.panels = how.panels && (!how.same_begin || s.begin % 16 == 0);
  }
  return how;
}

std::string describe(const Arrangement& how) {
  constexpr const char* alignments[] = {"bottom-right", "top-left", "offsets"};
  std::ostringstream text;
  text << "arrangement " << how.seed << ": " << alignments[how.alignment];
  if (how.paged) text << ", pages of " << how.page_size;
  if (how.ragged_keys) text << ", ragged keys";
  if (how.ragged_queries) text << ", ragged queries";
  if (how.lengths) text << ", lengths";
  if (how.begin) text << ", begin";
  if (how.absent_by_mask) text << ", absent by mask";
  if (how.panels) text << ", panels";
  if (how.table_rows) text << ", table rows";
  if (how.widened) text << ", widened";
  if (how.in_place) text << ", in place";
  if (!how.lse) text << ", no lse";
  return text.str();
}

}  // namespace heed::test
