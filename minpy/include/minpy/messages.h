/// The messages of a library: what its host shows when a function reports failure.
#ifndef MINPY_MESSAGES_H_
#define MINPY_MESSAGES_H_

#include <list>
#include <memory>
#include <mutex>

#include "platform.h"

/// A stream to one new message: `MX_ERROR_MSG << "expected 2 inputs, got " << count;`.
#define MX_ERROR_MSG ::mxnet::ext::MXerrorMsgs::get()->add(__FILE__, __LINE__)

namespace minpy PRIVATE_SYMBOL {

/// Characters under a lock: one thread writes, while any thread may read what is there so far.
class MessageText : public std::streambuf {
 public:
  /// The text so far. The pointer stays good for as long as the message lives, whatever is added.
  const std::string* snapshot() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (snapshots_.empty() || snapshots_.back() != text_) snapshots_.push_back(text_);
    return &snapshots_.back();
  }

 protected:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    const char value = traits_type::to_char_type(character);
    append(&value, 1);
    return character;
  }

  std::streamsize xsputn(const char* characters, std::streamsize count) override {
    append(characters, static_cast<std::size_t>(count));
    return count;
  }

 private:
  void append(const char* characters, std::size_t count) {
    const std::size_t longest = 64 * 1024;
    std::lock_guard<std::mutex> lock(mutex_);
    if (text_.size() >= longest) return;
    const std::size_t room = longest - text_.size();
    text_.append(characters, count < room ? count : room);
    if (count >= room) text_.append(" ... (cut here)");
  }

  std::mutex mutex_;
  std::string text_;
  std::list<std::string> snapshots_;  // a list: what was given stays where it is
};

/// One message, as the stream that user code writes it to.
class Message : public std::stringstream {
 public:
  Message() { std::basic_ios<char>::rdbuf(&text_); }
  const std::string* snapshot() { return text_.snapshot(); }

 private:
  MessageText text_;
};

}  // namespace minpy

namespace mxnet {
namespace ext {
inline namespace abi11 {

/// All messages of a library, in order. Numbers only grow, so that a host that remembers how many there
/// were knows the new ones; the texts of all but the last thousand are let go.
class PRIVATE_SYMBOL MXerrorMsgs {
 public:
  static MXerrorMsgs* get() {
    // Never destroyed: threads may still report while the process ends.
    static MXerrorMsgs* messages = new MXerrorMsgs;
    return messages;
  }

  /// A new message that begins `file[line]: `, as a stream for the rest of it.
  std::stringstream& add(const char* file, int line) {
    std::shared_ptr<minpy::Message> message(new minpy::Message);
    *message << file << "[" << line << "]: ";
    hold(message);
    std::lock_guard<std::mutex> lock(mutex_);
    place(count_) = message;
    ++count_;
    return *message;
  }

  int size() {
    std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }

  const std::string* get(int index) {
    static const std::string* const none = new std::string("(no such message)");
    static const std::string* const old = new std::string("(an older message, no longer kept)");
    std::shared_ptr<minpy::Message> message;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (index < 0 || index >= count_) return none;
      if (index < count_ - kept) return old;
      message = place(index);
    }
    hold(message);
    return message->snapshot();
  }

 private:
  enum { kept = 1000, held = 8 };

  MXerrorMsgs() : count_(0), messages_(new std::shared_ptr<minpy::Message>[kept]) {}
  MXerrorMsgs(const MXerrorMsgs&) = delete;
  MXerrorMsgs& operator=(const MXerrorMsgs&) = delete;

  /// Keeps the last messages that this thread wrote or read alive, for it may still use them when other
  /// threads have pushed them out of the list.
  static void hold(const std::shared_ptr<minpy::Message>& message) {
    static thread_local std::shared_ptr<minpy::Message> last[held];
    static thread_local int next = 0;
    last[next] = message;
    next = (next + 1) % held;
  }

  std::shared_ptr<minpy::Message>& place(int index) { return messages_[index % kept]; }

  std::mutex mutex_;
  int count_;
  std::shared_ptr<minpy::Message>* messages_;  // the last of them, each in the place of one that is let go
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_MESSAGES_H_
