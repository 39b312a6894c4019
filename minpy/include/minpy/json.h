/// JSON values, their text and its parser.
#ifndef MINPY_JSON_H_
#define MINPY_JSON_H_

#include "platform.h"

namespace mxnet {
namespace ext {
inline namespace abi11 {

enum JsonType : int { ERR = 0, STR = 1, NUM = 2, LIST = 3, MAP = 4 };

/// A JSON value. Numbers, `true`, `false` and `null` are NUM: `str` is how they are written, `num` their
/// whole part, or 1, 0 and 0. What is no JSON is ERR, where `str` says why.
struct JsonVal {
  JsonVal() : type(ERR), num(-1) {}
  explicit JsonVal(JsonType kind) : type(kind), num(-1) {}
  explicit JsonVal(std::string text) : type(STR), num(-1), str(std::move(text)) {}
  explicit JsonVal(int number) : type(NUM), num(number), str(std::to_string(number)) {}
  JsonVal(JsonType kind, int number, std::string text) : type(kind), num(number), str(std::move(text)) {}

  bool operator<(const JsonVal& other) const {
    if (type != other.type) return type < other.type;
    if (num != other.num) return num < other.num;
    if (str != other.str) return str < other.str;
    if (list < other.list || other.list < list) return list < other.list;
    return map < other.map;
  }

  /// The value of a whole JSON text.
  static JsonVal parse(const std::string& json);

  // The value that begins at `*idx`, which is then behind it. For strings, lists and maps `*idx` is behind
  // the quote or bracket that opens them.
  static JsonVal parse(const std::string& json, unsigned int* idx);
  static JsonVal parse_string(const std::string& json, unsigned int* idx);
  static JsonVal parse_num(const std::string& json, unsigned int* idx);
  static JsonVal parse_list(const std::string& json, unsigned int* idx);
  static JsonVal parse_map(const std::string& json, unsigned int* idx);

  /// The JSON text of the value, on one line.
  std::string dump() const;

  /// The value with its types, to look at: `json(LIST:[json(INT:1),])`.
  std::string toString() const;

  JsonType type;
  int num;
  std::string str;
  std::vector<JsonVal> list;
  std::map<JsonVal, JsonVal> map;
};

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

namespace minpy PRIVATE_SYMBOL {

/// Appends a string as JSON writes it.
inline void append_quoted(const std::string& value, std::string* text) {
  static const char digits[] = "0123456789abcdef";
  *text += '"';
  for (const char character : value) {
    const unsigned char byte = static_cast<unsigned char>(character);
    switch (character) {
      case '"': *text += "\\\""; break;
      case '\\': *text += "\\\\"; break;
      case '\n': *text += "\\n"; break;
      case '\r': *text += "\\r"; break;
      case '\t': *text += "\\t"; break;
      default:
        if (byte < 0x20) {
          *text += "\\u00";
          *text += digits[byte >> 4];
          *text += digits[byte & 15];
        } else {
          *text += character;
        }
    }
  }
  *text += '"';
}

/// Reads JSON, of which MXNet's readers know a part. Every error is an exception.
class JsonReader {
 public:
  typedef mxnet::ext::JsonVal JsonVal;

  JsonReader(const std::string& text, std::size_t position) : text_(text), position_(position), depth_(0) {}

  std::size_t position() const { return position_; }

  /// Demands that only white space is left.
  void end() {
    skip_space();
    if (position_ < text_.size()) fail("the end");
  }

  JsonVal value() {
    skip_space();
    const char next = position_ < text_.size() ? text_[position_] : '\0';
    if (take('"')) return string();
    if (take('[')) return list();
    if (take('{')) return map();
    if (next == 't') return word("true", 1);
    if (next == 'f') return word("false", 0);
    if (next == 'n') return word("null", 0);
    return number();
  }

  JsonVal string() { return JsonVal(characters()); }

  JsonVal number() {
    const std::size_t begin = position_;
    take('-');
    if (!take('0')) digits();
    if (take('.')) digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits();
    }
    const std::string written = text_.substr(begin, position_ - begin);
    return JsonVal(mxnet::ext::NUM, whole_part(written), written);
  }

  JsonVal list() {
    const Nesting nesting(this);
    JsonVal result(mxnet::ext::LIST);
    if (take_after_space(']')) return result;
    do {
      result.list.push_back(value());
    } while (take_after_space(','));
    if (!take(']')) fail("',' or ']'");
    return result;
  }

  JsonVal map() {
    const Nesting nesting(this);
    JsonVal result(mxnet::ext::MAP);
    if (take_after_space('}')) return result;
    do {
      if (!take_after_space('"')) fail("a key");
      JsonVal key = string();
      if (!take_after_space(':')) fail("':'");
      result.map[std::move(key)] = value();
    } while (take_after_space(','));
    if (!take('}')) fail("',' or '}'");
    return result;
  }

 private:
  /// Counts the brackets around a value: a text may not exhaust the stack.
  struct Nesting {
    explicit Nesting(JsonReader* of) : reader(of) {
      if (++reader->depth_ > 500) reader->fail("at most 500 brackets in each other");
    }
    ~Nesting() { --reader->depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    JsonReader* reader;
  };

  [[noreturn]] void fail(const std::string& expected) const {
    throw std::runtime_error("JSON: expected " + expected + " at character " + std::to_string(position_) +
                             " of " + std::to_string(text_.size()));
  }

  void skip_space() {
    while (position_ < text_.size() && strchr(" \t\r\n", text_[position_]) != nullptr &&
           text_[position_] != '\0') {
      ++position_;
    }
  }

  bool take(char character) {
    if (position_ >= text_.size() || text_[position_] != character) return false;
    ++position_;
    return true;
  }

  bool take_after_space(char character) {
    skip_space();
    return take(character);
  }

  void digits() {
    const std::size_t begin = position_;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') ++position_;
    if (position_ == begin) fail(depth_ > 0 || begin > 0 ? "a value" : "a JSON value");
  }

  JsonVal word(const char* written, int number) {
    const std::size_t length = strlen(written);
    if (text_.compare(position_, length, written) != 0) fail("a value");
    position_ += length;
    return JsonVal(mxnet::ext::NUM, number, written);
  }

  /// The rest of a string, with its escapes read and its closing quote taken.
  std::string characters() {
    std::string result;
    for (;;) {
      if (position_ >= text_.size()) fail("'\"'");
      const char character = text_[position_++];
      if (character == '"') return result;
      if (character == '\\') {
        append_escaped(&result);
      } else {
        result += character;
      }
    }
  }

  void append_escaped(std::string* result) {
    static const char letters[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    const char letter = position_ < text_.size() ? text_[position_] : '\0';
    if (letter == 'u') {
      ++position_;
      append_utf8(code_point(), result);
      return;
    }
    const char* const found = letter != '\0' ? strchr(letters, letter) : nullptr;
    if (found == nullptr) fail("an escape");
    ++position_;
    *result += characters[found - letters];
  }

  unsigned long code_point() {
    const unsigned long first = four_digits();
    if (first < 0xD800 || first > 0xDFFF) return first;
    const bool paired = first < 0xDC00 && take('\\') && take('u');
    const unsigned long second = paired ? four_digits() : 0;
    if (second < 0xDC00 || second > 0xDFFF) fail("the second half of a surrogate pair");
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }

  unsigned long four_digits() {
    unsigned long result = 0;
    for (int i = 0; i < 4; ++i) {
      static const char hexadecimal[] = "0123456789abcdef0123456789ABCDEF";
      const char digit = position_ < text_.size() ? text_[position_] : '\0';
      const char* const found = digit != '\0' ? strchr(hexadecimal, digit) : nullptr;
      if (found == nullptr) fail("four hexadecimal digits");
      result = result * 16 + static_cast<unsigned long>((found - hexadecimal) % 16);
      ++position_;
    }
    return result;
  }

  static void append_utf8(unsigned long code, std::string* result) {
    const auto append = [result](unsigned long byte) { *result += static_cast<char>(byte); };
    if (code < 0x80) return append(code);
    if (code < 0x800) {
      append(0xC0 | (code >> 6));
    } else if (code < 0x10000) {
      append(0xE0 | (code >> 12));
      append(0x80 | ((code >> 6) & 0x3F));
    } else {
      append(0xF0 | (code >> 18));
      append(0x80 | ((code >> 12) & 0x3F));
      append(0x80 | ((code >> 6) & 0x3F));
    }
    append(0x80 | (code & 0x3F));
  }

  static int whole_part(const std::string& written) {
    std::istringstream stream(written);
    stream.imbue(
        std::locale::classic());  // strtod would want the decimal comma that a process may have chosen
    double value = 0;
    stream >> value;  // too large: the largest that there is
    const double largest = 2147483647.0;
    return static_cast<int>(value > largest ? largest : value < -largest ? -largest : value);
  }

  const std::string& text_;
  std::size_t position_;
  int depth_;
};

/// What a member function of the reader gives; an ERR value if it throws.
template <class Read>
inline mxnet::ext::JsonVal read_json(const std::string& text, unsigned int* position, Read read) {
  JsonReader reader(text, *position);
  mxnet::ext::JsonVal result;
  try {
    result = read(&reader);
  } catch (const std::runtime_error& error) {
    result = mxnet::ext::JsonVal(mxnet::ext::ERR, -1, error.what());
  }
  *position = static_cast<unsigned int>(reader.position());
  return result;
}

inline void append_json(const mxnet::ext::JsonVal& value, std::string* text) {
  const char* separator = "";
  switch (value.type) {
    case mxnet::ext::ERR: *text += "json(Error)"; break;
    case mxnet::ext::STR: append_quoted(value.str, text); break;
    case mxnet::ext::NUM: *text += value.str.empty() ? std::to_string(value.num) : value.str; break;
    case mxnet::ext::LIST:
      *text += '[';
      for (const mxnet::ext::JsonVal& item : value.list) {
        *text += separator;
        append_json(item, text);
        separator = ",";
      }
      *text += ']';
      break;
    case mxnet::ext::MAP:
      *text += '{';
      for (const auto& item : value.map) {
        *text += separator;
        append_quoted(item.first.str, text);
        *text += " : ";
        append_json(item.second, text);
        separator = ",";
      }
      *text += '}';
      break;
  }
}

}  // namespace minpy

namespace mxnet {
namespace ext {
inline namespace abi11 {

inline JsonVal JsonVal::parse(const std::string& json) {
  unsigned int position = 0;
  return minpy::read_json(json, &position, [](minpy::JsonReader* reader) {
    JsonVal value = reader->value();
    reader->end();
    return value;
  });
}

inline JsonVal JsonVal::parse(const std::string& json, unsigned int* idx) {
  return minpy::read_json(json, idx, [](minpy::JsonReader* reader) { return reader->value(); });
}
inline JsonVal JsonVal::parse_string(const std::string& json, unsigned int* idx) {
  return minpy::read_json(json, idx, [](minpy::JsonReader* reader) { return reader->string(); });
}
inline JsonVal JsonVal::parse_num(const std::string& json, unsigned int* idx) {
  return minpy::read_json(json, idx, [](minpy::JsonReader* reader) { return reader->number(); });
}
inline JsonVal JsonVal::parse_list(const std::string& json, unsigned int* idx) {
  return minpy::read_json(json, idx, [](minpy::JsonReader* reader) { return reader->list(); });
}
inline JsonVal JsonVal::parse_map(const std::string& json, unsigned int* idx) {
  return minpy::read_json(json, idx, [](minpy::JsonReader* reader) { return reader->map(); });
}

inline std::string JsonVal::dump() const {
  std::string text;
  minpy::append_json(*this, &text);
  return text;
}

inline std::string JsonVal::toString() const {
  switch (type) {
    case ERR: break;
    case STR: return "json(STR:" + str + ")";
    case NUM: return "json(INT:" + (str.empty() ? std::to_string(num) : str) + ")";
    case LIST: {
      std::string items;
      for (const JsonVal& item : list) items += item.toString() + ",";
      return "json(LIST:[" + items + "])";
    }
    case MAP: {
      std::string items;
      for (const auto& item : map) items += item.first.toString() + " : " + item.second.toString() + ",";
      return "json(MAP:{" + items + "})";
    }
  }
  return "json(Error)";
}

}  // namespace abi11
}  // namespace ext
}  // namespace mxnet

#endif  // MINPY_JSON_H_
