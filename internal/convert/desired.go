package convert

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// Labels and annotations of objects that are maintained for objects of earlier APIs.
const (
	// KeptForLabelKey is the label with the kind, in lower case, of the source object.
	KeptForLabelKey = "legacy.karpenter.sh/kept-for"
	// NotesAnnotationKey is the annotation with the notes of the conversion.
	NotesAnnotationKey = "legacy.karpenter.sh/notes"
)

// Desired is the desired state for one object of an earlier API.
type Desired struct {
	// Objects are objects of the current API, with defaults filled in; classes precede the pools that use them.
	Objects []DesiredObject
	// Why is the reason why there cannot be any; empty otherwise.
	Why string
}

// DesiredObject is the desired state of one object.
type DesiredObject struct {
	APIVersion, Kind, Name string
	// Class is the class that the object refers to; a class is its own.
	Class ClassReference
	// Content is the object without a status.
	Content map[string]any
}

// DesiredFor returns the objects that have to exist for objects of earlier APIs in a cluster, given as they are stored. The results
// are in the order of the objects; each result has the errors of its object.
func DesiredFor(stored []map[string]any, s Settings, judge *manifest.Reader) []Desired {
	out := make([]Desired, len(stored))
	var objects []Object
	var places []int
	for i, content := range stored {
		text, err := json.Marshal(wanted(content))
		if err != nil {
			out[i].Why = err.Error()
			continue
		}
		root, err := Parse(text)
		if err != nil {
			out[i].Why = err.Error()
			continue
		}
		objects, places = append(objects, Object{root}), append(places, i)
	}
	for n, r := range Convert(objects, s) {
		out[places[n]] = desiredFor(r, strings.ToLower(objects[n].kind()), judge)
	}
	return out
}

func (o Object) kind() string { return textAt(o.Root, "kind") }

// wanted is the part of a stored object that its user wrote.
func wanted(content map[string]any) map[string]any {
	stored, _ := content["metadata"].(map[string]any)
	metadata := map[string]any{}
	for _, field := range []string{"name", "labels", "annotations"} {
		if value, ok := stored[field]; ok {
			metadata[field] = value
		}
	}
	out := map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"], "metadata": metadata}
	if spec, ok := content["spec"]; ok {
		out["spec"] = spec
	}
	return out
}

// desiredFor labels and validates the output for one object.
func desiredFor(r Result, kind string, judge *manifest.Reader) Desired {
	var wrong, notes []string
	for _, f := range r.Findings {
		wrong = append(wrong, f.Field+": "+f.Message)
	}
	for _, n := range r.Notes {
		notes = append(notes, n.Field+": "+n.Text)
	}
	var out Desired
	for n := len(r.Converted) - 1; n >= 0; n-- {
		made := r.Converted[n]
		content, err := made.content()
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		metadata := content["metadata"].(map[string]any)
		mark(metadata, "labels", KeptForLabelKey, kind)
		if len(notes) > 0 {
			mark(metadata, "annotations", NotesAnnotationKey, strings.Join(notes, "\n"))
		}
		for _, f := range judge.Check(content) {
			field, ok := made.Origin(f.Field)
			if !ok {
				field = made.Kind + " " + f.Field
			}
			wrong = append(wrong, field+": "+f.Message)
		}
		delete(content, "status")
		out.Objects = append(out.Objects, DesiredObject{made.APIVersion, made.Kind, made.Name, made.class, content})
	}
	if len(wrong) > 0 {
		return Desired{Why: strings.Join(wrong, "; ")}
	}
	return out
}

// content is the object as decoded.
func (m Converted) content() (map[string]any, error) {
	text, err := m.YAML()
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", m.Kind, m.Name, err)
	}
	return manifest.PartOf(m.Kind+" "+m.Name, text).Content()
}

// mark adds an entry to a map of metadata.
func mark(metadata map[string]any, field, key, value string) {
	entries, ok := metadata[field].(map[string]any)
	if !ok {
		entries = map[string]any{}
		metadata[field] = entries
	}
	entries[key] = value
}
