// What the pages of image and language runs have in common. For lab/page*.cc.
#pragma once

#include <string>

#include "glint/io/json.h"
#include "glint/lab/publish/page.h"
#include "glint/report/page.h"

namespace glint {

// A language run with its weights.
PageResult write_language_page(const Engine& engine, LanguageRun& run, const PageRequest& request);
// Readings of one or two language models, without their weights.
PageResult write_readings_page(const Engine& engine, LanguageRun& run, const PageRequest& request);

// Chosen sentences of a page of readings; those of the request, or a few usual ones. Error (usage) for one that is
// empty or too long.
OrderedJson page_sentences(const Engine& engine, LanguageRun& run, const PageRequest& request);

// What a reader of a page should call a run: without the folders of this machine.
std::string short_run_name(const std::string& directory);
// run.json without where the data came from; an empty object where there is none.
Json page_run_info(const std::string& directory);

// A page of image runs that would be over its limit, made smaller: fewer test images, fewer eigenvectors. For
// lab/page.cc.

// The fewest that stay.
inline constexpr size_t kFewestImages = 100, kFewestVectors = 2;

// Keeps the first images of the page, and the strongest eigenvectors of either sign.
void keep_images(PageData& data, size_t count);
void keep_vectors(PageData& data, size_t strongest);

// Halves what takes more room of that which may be halved. False: nothing is left that may.
bool shrink_page(PageData& data, bool images, bool vectors);

// "The first 250 test images of mnist"
std::string images_text(size_t count, size_t total, const std::string& data);

}  // namespace glint
