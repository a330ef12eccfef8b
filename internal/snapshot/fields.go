package snapshot

import (
	_ "embed"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/cloud/plugin"
)

//go:embed fields.txt
var fieldsText string

// mark is how a snapshot treats a field.
type mark string

// The marks are described in fields.txt.
const (
	name       mark = ""
	literal    mark = "="
	presence   mark = "~"
	blank      mark = "blank"
	live       mark = "live"
	labels     mark = "labels"
	values     mark = "values"
	providerID mark = "id"
	path       mark = "path"
	address    mark = "address"
	attributes mark = "attributes"
	className  mark = "class"
	resources  mark = "resources"
)

// field is a field of snapshots, with those below it.
type field struct {
	mark  mark
	below map[string]*field
}

// kind is a kind of object in snapshots.
type kind struct {
	gvk  schema.GroupVersionKind
	root *field
	// label is one that objects must have to be captured; empty for all objects of the kind.
	label string
}

// optional reports whether a snapshot is taken without the objects of the kind where they may not be listed: roles for the commands that take one may not
// have them.
func (k kind) optional() bool { return k.label != "" || k.gvk.Kind == Policies || k.gvk.Kind == Plans }

// Format defines the kinds and fields of snapshots, and how they are redacted. Make one with NewFormat.
type Format struct {
	kinds []kind
	// redactors are those of cloud providers, by mark.
	redactors map[mark]plugin.Redactor
	// redactedLabels are well-known labels whose values are replaced all the same, by a redactor.
	redactedLabels map[string]mark
	// live is set for commands that read a live cluster: messages are kept.
	live bool
}

// NewFormat returns the format of snapshots of clusters with node classes of some cloud providers.
func NewFormat(providers ...plugin.Snapshot) (*Format, error) { return formatOf(false, providers) }

// NewLiveFormat returns the format in which commands read a live cluster: that of snapshots, with the messages that their answers quote. What is
// captured in it is not to be written to a file.
func NewLiveFormat(providers ...plugin.Snapshot) (*Format, error) { return formatOf(true, providers) }

func formatOf(live bool, providers []plugin.Snapshot) (*Format, error) {
	f := &Format{redactors: map[mark]plugin.Redactor{}, redactedLabels: map[string]mark{}, live: live}
	var provided, settings strings.Builder
	for _, p := range providers {
		provided.WriteString(p.Fields)
		settings.WriteString(p.Settings)
		for m, redactor := range p.Redactors {
			f.redactors[mark(m)] = redactor
		}
		for label, m := range p.Labels {
			f.redactedLabels[label] = mark(m)
		}
	}
	var err error
	f.kinds, err = f.parse(strings.NewReplacer("\nproviders\n", "\n"+provided.String()+"\n", "\n    providers\n", "\n"+settings.String()).Replace(fieldsText))
	return f, err
}

// parse reads the form that fields.txt describes.
func (f *Format) parse(text string) ([]kind, error) {
	var out []kind
	groups := map[string]*field{}
	var open []*field // the fields that the next line may belong to, outermost first
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		if depth == 0 {
			root := &field{below: map[string]*field{}}
			open = []*field{root}
			switch {
			case words[0] == "group" && len(words) == 2:
				groups[words[1]] = root
			case words[0] == "kind" && len(words) == 3:
				out = append(out, kind{gvk: schema.FromAPIVersionAndKind(words[2], words[1]), root: root})
			case words[0] == "kind" && len(words) == 5 && words[3] == "with":
				out = append(out, kind{schema.FromAPIVersionAndKind(words[2], words[1]), root, words[4]})
			default:
				return nil, fmt.Errorf("line %d: want group NAME, kind KIND VERSION or kind KIND VERSION with LABEL", number)
			}
			continue
		}
		if depth > len(open) || len(words) > 2 {
			return nil, fmt.Errorf("line %d: want a field and at most one mark, two spaces deeper than what it belongs to", number)
		}
		parsed, err := f.parseField(words, groups)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		parent := open[depth-1]
		if parent.mark != name || parent.below[words[0]] != nil {
			return nil, fmt.Errorf("line %d: field %q is there already, or belongs to one that has none", number, words[0])
		}
		parent.below[words[0]] = parsed
		open = append(open[:depth], parsed)
	}
	return out, nil
}

func (f *Format) parseField(words []string, groups map[string]*field) (*field, error) {
	if len(words) == 1 {
		return &field{below: map[string]*field{}}, nil
	}
	if group, ok := strings.CutPrefix(words[1], "@"); ok {
		if groups[group] == nil {
			return nil, fmt.Errorf("there is no group %q above", group)
		}
		return groups[group], nil
	}
	m := mark(words[1])
	if f.live && (m == blank || m == live) {
		m = literal
	}
	switch m {
	case literal, presence, blank, live, labels, values, providerID, path, address, attributes, className, resources:
		return &field{mark: m}, nil
	default:
		if f.redactors[m] != nil {
			return &field{mark: m}, nil
		}
		return nil, fmt.Errorf("there is no mark %q", words[1])
	}
}

// keep returns the part of a value that a snapshot contains; nil for none. The value is not changed; the result may share parts of it.
func (f *field) keep(value any) any {
	switch f.mark {
	case presence:
		return map[string]any{}
	case blank:
		return ""
	case live:
		return nil
	case name:
	default:
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		if len(f.below) == 0 {
			return nil // a structure where a text was expected: it may hold anything
		}
		out := map[string]any{}
		for key, below := range f.below {
			if part, ok := v[key]; ok && part != nil {
				if kept := below.keep(part); kept != nil {
					out[key] = kept
				}
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			if kept := f.keep(item); kept != nil {
				out = append(out, kept)
			}
		}
		return out
	default:
		if len(f.below) > 0 {
			return nil
		}
		return value
	}
}
