// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What follows walks over JSON that is known to be valid, and cuts it into parts
// without copying any: a list in a list in a list would otherwise be held as often
// as it is deep.

// members are those of an object, as they stand; of a key that stands twice, the
// last.
func members(raw []byte) (fields map[string][]byte, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	fields = map[string][]byte{}
	for i := next(raw, 1); raw[i] != '}'; {
		end := skip(raw, i)
		key := text(raw[i:end])
		i = next(raw, end)
		end = skip(raw, i)
		fields[key] = raw[i:end]
		i = next(raw, end)
	}
	return fields, true
}

// elements are those of a list, as they stand.
func elements(raw []byte) (items [][]byte, ok bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	for i := next(raw, 1); raw[i] != ']'; {
		end := skip(raw, i)
		items = append(items, raw[i:end])
		i = next(raw, end)
	}
	return items, true
}

// next is where the next key, value or closing bracket begins.
func next(raw []byte, i int) int {
	for strings.IndexByte(" \t\r\n,:", raw[i]) >= 0 {
		i++
	}
	return i
}

// skip is where the value that begins at i ends.
func skip(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		return skipBrackets(raw, i)
	}
	for i < len(raw) && strings.IndexByte(" \t\r\n,]}", raw[i]) < 0 {
		i++
	}
	return i
}

func skipString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipBrackets(raw []byte, i int) int {
	for depth := 0; ; {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i++; depth == 0 {
			return i
		}
	}
}

// text is a JSON string's, and empty for everything else.
func text(raw []byte) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// jsonTree makes nodes with lines of JSON. The YAML parser cannot: it does not know all
// of JSON's escapes.
type jsonTree struct {
	text    []byte
	decoder *json.Decoder
	offset  int // up to which lines are counted
	line    int
}

// jsonRoot is the node of a JSON value.
func jsonRoot(text []byte) *yaml.Node {
	t := jsonTree{text: text, decoder: json.NewDecoder(bytes.NewReader(text)), line: 1}
	t.decoder.UseNumber() // as they stand
	return t.node()
}

// node reads a value or a key; no token has a line end in it.
func (t *jsonTree) node() *yaml.Node {
	token, err := t.decoder.Token()
	if err != nil {
		return &yaml.Node{Line: t.line} // never: it has been read before
	}
	end := int(t.decoder.InputOffset())
	t.line += lines(t.text[t.offset:end])
	t.offset = end
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: t.line}
	switch token := token.(type) {
	case json.Delim:
		node.Kind = yaml.MappingNode
		if token == '[' {
			node.Kind = yaml.SequenceNode
		}
		for t.decoder.More() {
			node.Content = append(node.Content, t.node())
		}
		_, _ = t.decoder.Token() // the closing one
	case string:
		node.Value, node.Style = token, yaml.DoubleQuotedStyle
	case nil:
		node.Value = "null"
	default:
		node.Value = fmt.Sprint(token)
	}
	return node
}
