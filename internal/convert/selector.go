package convert

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxTerms is how many terms a selector holds today.
const maxTerms = 30

// selector makes terms of a selector of the old API: a map from tags to values. All of its entries had to hold; a value
// could be a list with commas, of which one had to; ids were given under names of their own. Every combination is a term of
// today. special are the names for other properties than tags, such as aws::name, with today's field.
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

// term is conditions that all have to hold.
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

// idTerms makes a term of each id. A term with an id has no other condition today.
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
