// What a run found, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"

namespace heed::compare {

// Exit statuses, see --help.
enum Exit { kAgrees = 0, kDisagrees = 1, kUnreadable = 2, kRefused = 77 };

struct CaseResult {
  std::string name, description;
  Exit exit = kAgrees;
  std::string message;  // why it was refused or could not be read
  std::vector<std::string> complaints;
  std::vector<ComputationResult> computations;
};

// The worst of all: a disagreement before an unreadable file before a refusal.
Exit overall(const std::vector<CaseResult>& results);

void print_text(const CaseResult& result);
void print_summary(const std::vector<CaseResult>& results);
void print_json(const std::vector<CaseResult>& results);

}  // namespace heed::compare
