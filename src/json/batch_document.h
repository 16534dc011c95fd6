// One batch document (docs/batch-format.md), read and turned into the structs of the C ABI.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attnplan.h"
#include "json/document_error.h"

namespace attnplan::json {

struct BatchStorage;

// Owns everything its structs point to. Movable; the structs stay where they are.
class BatchDocument {
 public:
  BatchDocument();
  ~BatchDocument();
  BatchDocument(BatchDocument&&) noexcept;
  BatchDocument& operator=(BatchDocument&&) noexcept;

  const std::string& name() const;
  // The text of "expect", whatever it holds. Known even where the rest of the document is bad.
  const std::optional<std::string>& expect() const;

  // "file:line:column: " of its first byte, for messages that know no better place.
  const std::string& origin() const;
  // The same, with its key, of options.layout and options.sections; else origin().
  const std::string& layout_origin() const;
  const std::string& sections_origin() const;

  const attnplan_config& config() const;
  const attnplan_step& step() const;
  const attnplan_group& group() const;
  bool has_kv_cache() const { return config().kv_cache != nullptr; }

  // Values that only the documents can spell; session.h reports them in their place.
  const std::optional<RangeFault>& cache_fault() const;
  const std::optional<RangeFault>& request_fault() const;
  const std::optional<RangeFault>& scalar_fault() const;

  // The id of a request's block that the C structs hold as the nearest int32; null where `id` is
  // what the document says. Of the blocks with this id the first.
  const WideInt* wide_id(int32_t request, int64_t id, int64_t* block) const;

  // Equal texts mean equal configurations: the members that make up config(), as written.
  const std::string& config_text() const;

 private:
  friend std::optional<DocumentError> parse_batch(std::string_view, const Source&, std::string_view,
                                                  BatchDocument&);
  std::unique_ptr<BatchStorage> storage_;
};

// Reads the one object that `text` holds. `default_backend` is the profile of a document without
// "backend"; empty: there is none. On an error only name() and expect() of the batch mean anything.
std::optional<DocumentError> parse_batch(std::string_view text, const Source& source,
                                         std::string_view default_backend, BatchDocument& batch);

}  // namespace attnplan::json
