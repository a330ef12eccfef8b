package convert

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxTerms is the maximum number of terms of a selector in the current API.
const maxTerms = 30

// selector converts a selector of an earlier API, a map from tags to values, to terms. All entries had to match; a value could be
// a comma-separated list, of which one had to match; IDs had special keys. Every combination becomes a term. special maps the keys
// for properties other than tags, such as aws::name, to the field of the current API.
func (c *conversion) selector(m *draft, v value, special map[string]string) *yaml.Node {
	var ids *value
	var others []value
	for _, entry := range v.fields().rest() {
		switch {
		case isOneOf(entry.key.Value, "aws-ids", "aws::ids"):
			if ids != nil {
				c.addFinding(entry, "aws-ids and aws::ids are the same; keep one of them")
			}
			ids = &entry
		case strings.HasPrefix(entry.key.Value, "aws::") && special[entry.key.Value] == "":
			c.addFinding(entry, "no such selector; known are %s and tags", strings.Join(append([]string{"aws-ids", "aws::ids"}, sortedKeys(special)...), ", "))
		default:
			others = append(others, entry)
		}
	}
	if ids != nil {
		return c.idTerms(m, *ids, others)
	}
	terms := []term{nil}
	for _, entry := range others {
		alternatives := splitList(entry.text())
		if len(alternatives) == 0 {
			c.addFinding(entry, "empty; write * for a tag that has to be there with any value")
			return nil
		}
		if len(terms)*len(alternatives) > maxTerms {
			c.addFinding(v, "makes more than %d terms, which is the most there can be", maxTerms)
			return nil
		}
		var more []term
		for _, t := range terms {
			for _, alternative := range alternatives {
				more = append(more, append(slices.Clone(t), property{entry, alternative}))
			}
		}
		terms = more
	}
	out := list()
	for _, t := range terms {
		out.Content = append(out.Content, t.node(special))
	}
	return out
}

// property is one condition of a term.
type property struct {
	entry value
	text  string
}

// term is a set of conditions that must all be true.
type term []property

func (t term) node(special map[string]string) *yaml.Node {
	out := newMapping()
	for _, p := range t {
		n := p.entry.from(scalar(p.text))
		if field := special[p.entry.key.Value]; field != "" {
			out.add(field, n)
			continue
		}
		tags := out.child("tags")
		tags.add(p.entry.key.Value, n)
		p.entry.c.origins[tags.node] = p.entry.path
	}
	return out.node
}

// idTerms returns a term for each ID. A term with an ID has no other condition in the current API.
func (c *conversion) idTerms(m *draft, ids value, others []value) *yaml.Node {
	out := list()
	for _, id := range splitList(ids.text()) {
		t := newMapping()
		t.add("id", ids.from(scalar(id)))
		out.Content = append(out.Content, t.node)
	}
	if len(out.Content) == 0 {
		c.addFinding(ids, "empty, want ids separated by commas")
	}
	if len(out.Content) > maxTerms {
		c.addFinding(ids, "makes more than %d terms, which is the most there can be", maxTerms)
	}
	for _, o := range others {
		c.leaveOut(m, o, "a term with an id has no other condition today; the ids alone decide")
	}
	return out
}

// splitList cuts a list with commas.
func splitList(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}
