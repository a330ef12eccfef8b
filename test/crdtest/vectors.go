package crdtest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Vectors is a group of fragments that the API server accepts or rejects.
type Vectors struct {
	// Rule says what the group shows.
	Rule string
	// CRDs is core if the group holds only for the definitions of the core kinds, without the rules of a provider.
	CRDs string
	// At is the path that fragments are put at, by kind.
	At map[string]string
	// Also are fragments at other paths, by path.
	Also map[string]any
	// From is set in groups about updates: the object is created with this fragment and then changed.
	From any
	// Accept and Reject are the fragments. The string Omit removes the path.
	Accept, Reject []any
	// Because is a part of the message of each rejection.
	Because string
	// NotBecause is in the message of no rejection, unless it is empty.
	NotBecause string
	// Manifests are those of valid objects of other than the core kinds, by kind.
	Manifests map[string]string `json:"-"`
}

// ReadVectors reads a file with groups, and fails on groups that could not fail.
func ReadVectors(t *testing.T, path string) []Vectors {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var groups []Vectors
	if err := yaml.UnmarshalStrict(text, &groups); err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
	for _, group := range groups {
		if err := group.complete(); err != nil {
			t.Fatalf("group %q %v", group.Rule, err)
		}
	}
	return groups
}

// complete reports a group that checks nothing.
func (v Vectors) complete() error {
	if len(v.At) == 0 || len(v.Accept)+len(v.Reject) == 0 || (len(v.Reject) > 0 && v.Because == "") {
		return errors.New("checks nothing, or rejects without a reason")
	}
	return nil
}

// Check tries every fragment of a group on every kind.
func (v Vectors) Check(t *testing.T, c client.Client) {
	t.Helper()
	if err := v.complete(); err != nil {
		t.Fatalf("the group %v", err)
	}
	for kind, path := range v.At {
		for _, fragment := range v.Accept {
			if err := v.try(t, c, kind, path, fragment); err != nil {
				t.Errorf("%s %s = %s: rejected: %v", kind, path, text(fragment), err)
			}
		}
		for _, fragment := range v.Reject {
			switch err := v.try(t, c, kind, path, fragment); {
			case err == nil:
				t.Errorf("%s %s = %s: accepted", kind, path, text(fragment))
			case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), v.Because):
				t.Errorf("%s %s = %s: rejected, but not because of %q: %v", kind, path, text(fragment), v.Because, err)
			case v.NotBecause != "" && strings.Contains(err.Error(), v.NotBecause):
				t.Errorf("%s %s = %s: the message has %q: %v", kind, path, text(fragment), v.NotBecause, err)
			}
		}
	}
}

// try asks the server to create an object with a fragment, or to change one to it, and returns its answer. No object
// remains.
func (v Vectors) try(t *testing.T, c client.Client, kind, path string, fragment any) error {
	t.Helper()
	var object *unstructured.Unstructured
	if manifest, ok := v.Manifests[kind]; ok {
		object = Object(t, kind, manifest)
	} else {
		object = Valid(t, kind)
	}
	for also, value := range v.Also {
		Put(t, object, also, value)
	}
	if v.From == nil {
		Put(t, object, path, fragment)
		return c.Create(t.Context(), object, client.DryRunAll)
	}
	Put(t, object, path, v.From)
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatalf("creating the object to update: %v", err)
	}
	defer remove(t, c, object)
	changed := object.DeepCopy()
	Put(t, changed, path, fragment)
	return c.Update(t.Context(), changed)
}

// text shows a fragment on one line.
func text(fragment any) string { return fmt.Sprintf("%v", fragment) }

// Fragment parses one value in YAML. A text that cannot be parsed ends the test.
func Fragment(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return value
}

// Fragments parses the values of lines.
func Fragments(t *testing.T, lines string) []any {
	t.Helper()
	var out []any
	for line := range strings.Lines(lines) {
		out = append(out, Fragment(t, line))
	}
	return out
}
