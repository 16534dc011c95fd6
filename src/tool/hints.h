// What a mistyped command line may have meant.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace attnplan::tool {

// After a failed parse: a sentence about every unknown subcommand or option, one a line; empty
// where there is none.
std::string hints(const CLI::App& app, int argc, const char* const* argv);

}  // namespace attnplan::tool
