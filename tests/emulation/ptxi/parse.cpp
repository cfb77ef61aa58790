/* parse.cpp - the text that nvcc writes to decoded instructions. Not a general PTX reader: what nvcc does not emit,
 * or the interpreter does not know, is an error with its line. */
#include "ptx.h"

#include "runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <unordered_map>

namespace ptxi {
using std::string;
using std::vector;

/* A copy that stays until the end. */
static const char *kept(const string &text) {
    static std::set<string> all;
    return all.insert(text).first->c_str();
}

/* ---- names ---- */

static const char *const types[] = {
    "",
#define TYPE(id, name, bytes) name,
#include "names.def"
};
static const char *const opcodes[] = {
#define OPCODE(id, name) name,
#include "names.def"
};
static const struct {
    const char *name;
    modifier bit;
} modifiers[] = {
#define MODIFIER_NAME(name, id) {name, id},
#include "names.def"
};
static const char *const harmless[] = {
#define HARMLESS(name) name,
#include "names.def"
};
static const char *const comparisons[] = {
    "",
#define COMPARISON(id) #id,
#include "names.def"
};
static const char *const specials[] = {
#define SPECIAL(id, name) name,
#include "names.def"
};

static type type_named(const string &s) {
    for (int i = 1; i < static_cast<int>(type::count); i++)
        if (s == types[i]) return static_cast<type>(i);
    return type::none;
}

bool instruction::has(const char *word) const {
    for (auto &w : words)
        if (w == word) return true;
    return false;
}

void refuse(const instruction &i, const char *why) {
    simt::fail("PTX line %d: %s: '%s'", i.line, why, i.text.c_str());
}

/* ---- text ---- */

static string trimmed(const string &s) {
    const size_t a = s.find_first_not_of(" \t\r\n"), b = s.find_last_not_of(" \t\r\n");
    return a == string::npos ? "" : s.substr(a, b - a + 1);
}

/* At commas outside of brackets. */
static vector<string> split(const string &s) {
    vector<string> parts;
    string part;
    int depth = 0;
    for (const char c : s) {
        if (strchr("([{", c)) depth++;
        if (strchr(")]}", c)) depth--;
        if (c == ',' && depth == 0) {
            parts.push_back(trimmed(part));
            part.clear();
        } else {
            part += c;
        }
    }
    if (!trimmed(part).empty()) parts.push_back(trimmed(part));
    return parts;
}

/* Comments become spaces, so that lines keep their numbers. */
static void blank_comments(string &s) {
    for (size_t i = 0; i + 1 < s.size(); i++) {
        if (s[i] != '/') continue;
        if (s[i + 1] == '/') {
            for (; i < s.size() && s[i] != '\n'; i++) s[i] = ' ';
        } else if (s[i + 1] == '*') {
            const size_t end = s.find("*/", i + 2);
            for (; i < s.size() && i < end + 2; i++)
                if (s[i] != '\n') s[i] = ' ';
        }
    }
}

/* Behind the brace that closes the one at `open`. */
static size_t after_block(const string &s, size_t open) {
    int depth = 0;
    for (size_t i = open; i < s.size(); i++) {
        if (s[i] == '{') depth++;
        if (s[i] == '}' && --depth == 0) return i + 1;
    }
    return s.size();
}

/* ---- modules ---- */

struct module {
    string path, text;
    struct entry {
        size_t at; /* of the text: behind ".entry" */
        int line;
    };
    std::unordered_map<string, entry> entries;
    std::map<string, symbol> symbols;
    std::unordered_map<string, kernel> parsed;
};

/* ---- declarations ---- */

/* ".shared .align 16 .b8 name[8448]", ".param .u64 name", ".global .f32 name[2] = {...}" */
static void declare(const string &text, std::map<string, symbol> &into, kernel *k) {
    const size_t equals = text.find('=');
    std::istringstream words(text.substr(0, equals));
    symbol y = {symbol::global, 0, 1, 0, -1};
    type t = type::b8;
    bool is_extern = false;
    string word, name;
    while (words >> word) {
        if (word == ".extern")
            is_extern = true;
        else if (word == ".shared")
            y.space = symbol::shared;
        else if (word == ".local")
            y.space = symbol::local;
        else if (word == ".param")
            y.space = symbol::param;
        else if (word == ".align")
            words >> y.align;
        else if (word[0] != '.')
            name += word;
        else if (type_named(word.substr(1)) != type::none)
            t = type_named(word.substr(1));
    }
    const size_t bracket = name.find('[');
    const string id = name.substr(0, bracket);
    size_t elements = 1;
    for (size_t p = bracket; p != string::npos; p = name.find('[', p + 1))
        elements *= strtoul(name.c_str() + p + 1, nullptr, 0);
    const auto width = static_cast<size_t>(bytes_of(t));
    y.size = elements * width;
    if (y.align < width) y.align = width;
    if (is_extern && y.space == symbol::shared) y.space = symbol::dynamic;
    const auto place = [&y](size_t &end) {
        y.at = (end + y.align - 1) / y.align * y.align;
        end = y.at + y.size;
    };
    if (y.space == symbol::shared) {
        y.key = simt::shared_key(kept(id), y.size, y.align);
    } else if (y.space == symbol::local) {
        place(k->local_bytes);
    } else if (y.space == symbol::param) {
        place(k->parameter_bytes);
        k->parameters.push_back({y.at, y.size});
    } else if (y.space == symbol::global) {
        void *p = aligned_alloc(256, (y.size + 255) / 256 * 256);
        if (!p) simt::fail("no memory for '%s'", id.c_str());
        memset(p, 0, y.size);
        y.at = reinterpret_cast<uint64_t>(p);
        if (equals != string::npos) {
            string values = trimmed(text.substr(equals + 1));
            if (values[0] == '{') values = values.substr(1, values.size() - 2);
            size_t i = 0;
            for (auto &v : split(values)) {
                const bool is_bits = v[0] == '0' && (v[1] == 'f' || v[1] == 'd');
                const uint64_t bits = is_bits
                                          ? strtoull(v.c_str() + 2, nullptr, 16)
                                          : static_cast<uint64_t>(strtoll(v.c_str(), nullptr, 0));
                memcpy(static_cast<char *>(p) + i++ * width, &bits, width);
            }
        }
    }
    into[id] = y;
}

/* ---- kernels ---- */

struct parser {
    module &m;
    kernel &k;
    int line;
    struct scope { /* registers and labels are local to braces */
        struct range {
            int first, count; /* count 0: one register of that very name */
        };
        std::map<string, range> registers;
        int id;
    };
    vector<scope> scopes;
    int next_scope = 0;
    std::map<std::pair<int, string>, int> labels;
    std::map<string, vector<string>> tables; /* .branchtargets, by their label */
    string last_label;
    struct jump {
        size_t at;
        vector<int> scopes; /* innermost first */
        vector<string> labels;
    };
    vector<jump> jumps;

    [[noreturn]] void fail(const string &what) const {
        simt::fail("PTX line %d of %s: %s", line, m.path.c_str(), what.c_str());
    }

    int register_named(const string &name) const {
        size_t digits = name.size();
        while (digits > 0 && isdigit(static_cast<unsigned char>(name[digits - 1]))) digits--;
        for (size_t s = scopes.size(); s-- > 0;) {
            const auto one = scopes[s].registers.find(name);
            if (one != scopes[s].registers.end() && one->second.count == 0)
                return one->second.first;
            if (digits == name.size()) continue;
            const auto many = scopes[s].registers.find(name.substr(0, digits));
            const int i = atoi(name.c_str() + digits);
            if (many != scopes[s].registers.end() && i < many->second.count)
                return many->second.first + i;
        }
        return -1;
    }

    const symbol *symbol_named(const string &name) const {
        const auto mine = k.symbols.find(name);
        if (mine != k.symbols.end()) return &mine->second;
        const auto shared = m.symbols.find(name);
        return shared == m.symbols.end() ? nullptr : &shared->second;
    }

    void declare_registers(const string &text) { /* ".b32 %r<332>", ".pred p, q" */
        const size_t space = text.find_first_of(" \t");
        for (auto &n : split(text.substr(space))) {
            const size_t angle = n.find('<');
            const int count = angle == string::npos ? 0 : atoi(n.c_str() + angle + 1);
            scopes.back().registers[n.substr(0, angle)] = {k.registers, count};
            k.registers += count ? count : 1;
        }
    }

    operand memory(const string &inside) { /* "[base+4]", "[symbol]", "[map, {x, y}]" */
        const vector<string> parts = split(inside);
        if (parts.empty()) fail("an empty address");
        const size_t sign = parts[0].find_first_of("+-", 1);
        const string base = trimmed(parts[0].substr(0, sign));
        operand o;
        o.kind = operand::memory;
        if (sign != string::npos) {
            const size_t digits = parts[0][sign] == '+' ? sign + 1 : sign; /* "+-8" as well */
            o.value = static_cast<uint64_t>(strtoll(parts[0].c_str() + digits, nullptr, 0));
        }
        o.r = register_named(base);
        if (o.r < 0) {
            o.symbol = symbol_named(base);
            if (!o.symbol && !isdigit(static_cast<unsigned char>(base[0])))
                fail("unknown address '" + base + "'");
            if (!o.symbol) o.value += strtoull(base.c_str(), nullptr, 0);
        }
        if (parts.size() > 1) o.items.push_back(parse(parts[1]));
        return o;
    }

    operand parse(const string &text) {
        operand o;
        if (text == "_") return o;
        if (text[0] == '{') {
            o.kind = operand::list;
            for (auto &item : split(text.substr(1, text.size() - 2)))
                o.items.push_back(parse(item));
            return o;
        }
        if (text[0] == '[') return memory(text.substr(1, text.size() - 2));
        if (text[0] == '!') {
            o = parse(trimmed(text.substr(1)));
            o.is_not = true;
            return o;
        }
        const size_t bar = text.find('|');
        if (bar != string::npos) {
            o = parse(trimmed(text.substr(0, bar)));
            o.items.push_back(parse(trimmed(text.substr(bar + 1))));
            return o;
        }
        o.r = register_named(text);
        if (o.r >= 0) {
            o.kind = operand::reg;
            return o;
        }
        if (text[0] == '%') {
            for (int i = 0; i < static_cast<int>(special::count); i++)
                if (text == specials[i]) {
                    o.kind = operand::special;
                    o.what = static_cast<special>(i);
                    return o;
                }
            fail("unknown register '" + text + "'");
        }
        const bool is_number =
            isdigit(static_cast<unsigned char>(text[0])) || (text[0] == '-' && text.size() > 1);
        if (is_number) {
            o.kind = operand::imm;
            const char kind =
                text[0] == '0' && text.size() > 2 ? static_cast<char>(tolower(text[1])) : 0;
            o.is_float = kind == 'f';
            o.is_double = kind == 'd';
            o.value = o.is_float || o.is_double ? strtoull(text.c_str() + 2, nullptr, 16)
                      : text[0] == '-' ? static_cast<uint64_t>(strtoll(text.c_str(), nullptr, 0))
                                       : strtoull(text.c_str(), nullptr, 0);
            return o;
        }
        o.symbol = symbol_named(text);
        if (o.symbol) o.kind = operand::address;
        o.name = text;
        return o;
    }

    void modifier_named(instruction &i, const string &word) {
        i.words.push_back(word);
        const type t = type_named(word);
        if (t != type::none) {
            int n = 0;
            while (n < 4 && i.t[n] != type::none) n++;
            if (n == 4) fail("more than four types");
            i.t[n] = t;
            return;
        }
        const bool compares = i.code == opcode::setp || i.code == opcode::set;
        if (compares && i.cmp == comparison::none)
            for (size_t c = 1; c < sizeof comparisons / sizeof *comparisons; c++)
                if (word == comparisons[c]) {
                    i.cmp = static_cast<comparison>(c);
                    return;
                }
        if (word[0] == 'm' && sscanf(word.c_str(), "m%dn%dk%d", &i.M, &i.N, &i.K) == 3) return;
        for (auto &known : modifiers)
            if (word == known.name) {
                i.modifiers |= 1ull << known.bit;
                return;
            }
        if (word.compare(0, 4, "L1::") == 0 || word.compare(0, 4, "L2::") == 0) return;
        for (auto *w : harmless)
            if (word == w) return;
        refuse(i, ("unknown modifier ." + word).c_str());
    }

    void statement(string text) {
        text = trimmed(text);
        if (text.empty()) return;
        if (text[0] == '.') {
            if (text.compare(0, 4, ".reg") == 0)
                declare_registers(trimmed(text.substr(4)));
            else if (text.compare(0, 7, ".shared") == 0 || text.compare(0, 6, ".local") == 0)
                declare(text, k.symbols, &k);
            else if (text.compare(0, 14, ".branchtargets") == 0)
                tables[last_label] = split(text.substr(14));
            else if (text.compare(0, 7, ".pragma") != 0 && text.compare(0, 4, ".loc") != 0)
                fail("unknown directive '" + text + "'");
            return;
        }
        instruction i;
        i.line = line;
        i.text = text;
        if (text[0] == '@') {
            const size_t end = text.find_first_of(" \t");
            i.guard_not = text[1] == '!';
            const string name = text.substr(i.guard_not ? 2 : 1, end - (i.guard_not ? 2 : 1));
            i.guard = register_named(name);
            if (i.guard < 0) fail("unknown predicate '" + name + "'");
            text = trimmed(text.substr(end));
        }
        const size_t end = text.find_first_of(" \t\n");
        std::istringstream words(text.substr(0, end));
        string word;
        std::getline(words, word, '.');
        int code = 0;
        while (code < static_cast<int>(opcode::count) && word != opcodes[code]) code++;
        if (code == static_cast<int>(opcode::count)) fail("unknown instruction '" + text + "'");
        i.code = static_cast<opcode>(code);
        while (std::getline(words, word, '.')) modifier_named(i, word);
        if (end != string::npos)
            for (auto &part : split(text.substr(end))) i.o.push_back(parse(part));
        if (i.code == opcode::bra || i.code == opcode::brx) {
            jump j = {k.code.size(), {}, {}};
            for (size_t s = scopes.size(); s-- > 0;) j.scopes.push_back(scopes[s].id);
            j.labels.push_back(i.o.back().name);
            jumps.push_back(j);
        }
        k.code.push_back(i);
    }

    int label_place(const jump &j, const string &name) {
        for (const int scope : j.scopes) {
            const auto found = labels.find({scope, name});
            if (found != labels.end()) return found->second;
        }
        line = k.code[j.at].line;
        fail("unknown label '" + name + "'");
    }

    void open_scope() {
        scopes.emplace_back();
        scopes.back().id = next_scope++;
    }

    void body(const string &text) {
        string part;
        int first_line = line, brackets = 0;
        open_scope();
        for (const char c : text) {
            if (c == '\n') first_line++;
            const bool is_empty = part.find_first_not_of(" \t\r\n") == string::npos;
            if (is_empty) line = first_line;
            brackets += c == '[' || c == '(';
            brackets -= c == ']' || c == ')';
            if (c == ';') {
                statement(part);
                part.clear();
            } else if (c == '{' && is_empty) {
                open_scope();
                part.clear();
            } else if (c == '}' && is_empty) {
                scopes.pop_back();
                part.clear();
            } else if (c == ':' && brackets == 0 && part.find('.') == string::npos &&
                       trimmed(part).find_first_of(" \t:") == string::npos) {
                last_label = trimmed(part);
                labels[{scopes.back().id, last_label}] = static_cast<int>(k.code.size());
                part.clear();
            } else {
                part += c;
            }
        }
        for (auto &j : jumps) {
            instruction &i = k.code[j.at];
            if (i.code == opcode::brx) {
                const auto table = tables.find(j.labels[0]);
                if (table == tables.end()) fail("unknown table '" + j.labels[0] + "'");
                j.labels = table->second;
            }
            for (auto &name : j.labels) i.targets.push_back(label_place(j, name));
        }
    }
};

static void note_shared(kernel &k, const operand &o) {
    const symbol *s = o.symbol;
    if (s && (s->space == symbol::shared || s->space == symbol::dynamic) &&
        std::find(k.shared.begin(), k.shared.end(), s) == k.shared.end())
        k.shared.push_back(s);
    for (auto &item : o.items) note_shared(k, item);
}

const kernel *module_kernel(module *m, const string &name) {
    const auto known = m->parsed.find(name);
    if (known != m->parsed.end()) return &known->second;
    const module::entry e = m->entries.at(name);
    kernel &k = m->parsed[name];
    const size_t open = m->text.find('(', e.at), body = m->text.find('{', e.at);
    if (open < body) { /* parameters, in parentheses */
        const size_t close = m->text.find(')', open);
        for (auto &p : split(m->text.substr(open + 1, close - open - 1))) declare(p, k.symbols, &k);
    }
    parser p = {*m, k, e.line, {}, 0, {}, {}, {}, {}};
    for (size_t i = e.at; i < body; i++) p.line += m->text[i] == '\n';
    p.body(m->text.substr(body + 1, after_block(m->text, body) - body - 2));
    for (auto &i : k.code) {
        for (auto &o : i.o) note_shared(k, o);
        k.is_asynchronous |= i.code == opcode::wgmma || i.code == opcode::tcgen05 || i.has("bulk");
        k.is_weak |= (i.code == opcode::atom || i.code == opcode::red) && !i.has(m_shared);
    }
    make_quick(k);
    return &k;
}

module *module_load(const char *path) {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    if (!file) return nullptr;
    auto *m = new module{path, all.str(), {}, {}, {}};
    const string &s = m->text;
    blank_comments(m->text);
    int line = 1;
    size_t start = s.find('.'); /* behind the comments at the top */
    for (size_t i = 0; i < start && i < s.size(); i++) line += s[i] == '\n';
    for (size_t i = start; i < s.size(); i++) {
        if (s[i] == '\n') line++;
        const bool ends_directive = s[i] == '\n' && (s.compare(start, 8, ".version") == 0 ||
                                                     s.compare(start, 7, ".target") == 0 ||
                                                     s.compare(start, 13, ".address_size") == 0);
        if (s[i] == ';' || ends_directive) {
            const string text = trimmed(s.substr(start, i - start));
            const bool is_variable = text.find(".global") != string::npos ||
                                     text.find(".const") != string::npos ||
                                     text.find(".shared") != string::npos;
            if (s[i] == ';' && is_variable) declare(text, m->symbols, nullptr);
        } else if (s[i] == '{') {
            const size_t end = after_block(s, i);
            const string head = s.substr(start, i - start);
            if (head.find('=') != string::npos) continue; /* an initialiser: it ends with ';' */
            const size_t entry = head.find(".entry");
            if (entry != string::npos) {
                const size_t name = head.find_first_not_of(" \t", entry + 6);
                int at_line = line;
                for (const char c : head.substr(entry)) at_line -= c == '\n';
                m->entries[trimmed(head.substr(name, head.find_first_of("( \t\n", name) - name))] =
                    {start + entry + 6, at_line};
            }
            for (; i + 1 < end; i++) line += s[i] == '\n';
        } else {
            continue;
        }
        start = s.find_first_not_of(" \t\r\n", i + 1);
        if (start == string::npos) break;
        for (size_t j = i + 1; j < start; j++) line += s[j] == '\n';
        i = start - 1;
    }
    return m;
}

bool module_has(const module *m, const string &name) { return m->entries.count(name) != 0; }

} // namespace ptxi
