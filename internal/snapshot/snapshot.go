// Package snapshot captures the objects of a cluster that scheduling depends on, so that a simulation elsewhere can compute what
// Karpenter would do there.
//
// fields.txt lists the fields of each kind in a snapshot, and no other field is ever written: no secrets,
// environment, commands, images, user data, and of messages only those of node classes. It is a stream of YAML documents in a fixed order, readable by people and by
// package manifest.
//
// A snapshot can be redacted: names and label values that reveal information about their owner are replaced, equal values by equal
// replacements, so that references stay valid. Ties between equals are broken by name, so replacements sort as the replaced
// values; the plan for a redacted snapshot is that for the plain one, with other names.
package snapshot

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Snapshot is the set of objects that a cluster had when it was captured. It is immutable.
type Snapshot struct {
	format  *Format
	entries []entry
	// Absent are kinds that the cluster does not serve, Forbidden those that may not be listed, although most of the snapshot could.
	Absent, Forbidden []string
}

// entry is one object, reduced to the fields of a snapshot. It is kept as text, because there may be very many.
type entry struct {
	kind            int // index of the format's kinds
	namespace, name string
	json            []byte
}

// Of returns the snapshot of a cluster with these objects; objects of kinds that do not affect scheduling are omitted.
func (f *Format) Of(objects []client.Object) (Snapshot, error) {
	s := Snapshot{format: f}
	for _, o := range objects {
		gvk := o.GetObjectKind().GroupVersionKind()
		i := slices.IndexFunc(s.format.kinds, func(k kind) bool { return k.gvk == gvk })
		if i < 0 {
			continue
		}
		if label := s.format.kinds[i].label; label != "" {
			if _, has := o.GetLabels()[label]; !has {
				continue
			}
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return Snapshot{}, fmt.Errorf("reading %s %q: %w", gvk.Kind, o.GetName(), err)
		}
		if err := s.add(i, content); err != nil {
			return Snapshot{}, err
		}
	}
	s.sort()
	return s, nil
}

// reduce returns the fields of an object of the kind that a snapshot has. It may share parts of the object.
func (k kind) reduce(content map[string]any) (map[string]any, error) {
	kept, _ := k.root.keep(content).(map[string]any)
	kept["apiVersion"], kept["kind"] = k.gvk.ToAPIVersionAndKind()
	if k.isNodePool() {
		if err := keepHash(kept, content); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// add adds one object of a kind.
func (s *Snapshot) add(kind int, content map[string]any) error {
	k := s.format.kinds[kind]
	kept, err := k.reduce(content)
	if err != nil {
		return err
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("capturing a %s: %w", k.gvk.Kind, err)
	}
	metadata, _ := kept["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	s.entries = append(s.entries, entry{kind, namespace, name, text})
	return nil
}

func (s *Snapshot) sort() {
	slices.SortStableFunc(s.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
}

// Count is how many objects of each kind there are, in the order of the snapshot; kinds without any are left out.
func (s Snapshot) Count() []Count {
	var out []Count
	for _, e := range s.entries {
		kind := s.format.kinds[e.kind].gvk.Kind
		if n := len(out); n == 0 || out[n-1].Kind != kind {
			out = append(out, Count{Kind: kind})
		}
		out[len(out)-1].Objects++
	}
	return out
}

// Count is a number of objects of one kind.
type Count struct {
	Kind    string
	Objects int
}

// header begins every snapshot.
const header = "# Snapshot of a cluster. To see what Karpenter would do: karpenter simulate --snapshot FILE\n"

// The comments after the header.
const (
	// unlisted begins the line that names the kinds that could not be listed.
	unlisted = "# Without permission to list: "
	// counted begins the line with the number of objects. A snapshot with this line has the line ended after all documents, so that one that was cut
	// is told from one that was edited.
	counted = "# Objects when captured: "
	ended   = "# End of the snapshot"
)

// Write writes the documents, by kind, namespace and name.
func (s Snapshot) Write(to io.Writer) error {
	w := bufio.NewWriter(to)
	_, _ = w.WriteString(header) // an error stays until Flush
	if len(s.Forbidden) > 0 {
		_, _ = w.WriteString(unlisted + strings.Join(s.Forbidden, ", ") + "\n")
	}
	_, _ = fmt.Fprintf(w, "%s%d\n", counted, len(s.entries))
	for _, e := range s.entries {
		text, err := yaml.JSONToYAML(e.json)
		if err != nil {
			return fmt.Errorf("writing %s %q: %w", s.format.kinds[e.kind].gvk.Kind, e.name, err)
		}
		_, _ = w.WriteString("---\n")
		_, _ = w.Write(text)
	}
	_, _ = w.WriteString(ended + "\n")
	return w.Flush()
}
