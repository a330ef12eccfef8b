package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/store"
)

func object(namespace, name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": namespace, "name": name}, "value": value,
	}}
}

func key(namespace, name string) store.Key {
	return store.Key{Resource: schema.GroupResource{Resource: "things"}, Namespace: namespace, Name: name}
}

func TestChanged(t *testing.T) {
	s := store.New(10)
	things, others := key("a", "x"), store.Key{Resource: schema.GroupResource{Resource: "others"}, Name: "y"}
	expect := func(what string, want int64) {
		t.Helper()
		if got := s.Changed(things.Resource); got != want {
			t.Errorf("%s: changed at %d, want %d", what, got, want)
		}
	}
	expect("nothing", 0)
	created := object("a", "x", "1")
	if err := s.Create(things, created); err != nil {
		t.Fatal(err)
	}
	expect("creation", 2)
	if err := s.Create(others, object("", "y", "1")); err != nil {
		t.Fatal(err)
	}
	expect("creation of another kind", 2)
	if err := s.Update(things, object("a", "x", "2"), created.GetResourceVersion()); err != nil {
		t.Fatal(err)
	}
	expect("update", 4)
	if _, err := s.Delete(things, "4"); err != nil {
		t.Fatal(err)
	}
	expect("deletion", 5)
}

func TestWritesCheckTheRevision(t *testing.T) {
	s := store.New(10)
	k := key("a", "x")
	first := object("a", "x", "1")
	if err := s.Create(k, first); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(k, object("a", "x", "2")); !errors.Is(err, store.ErrExists) {
		t.Errorf("creating twice: %v", err)
	}
	if err := s.Update(k, object("a", "x", "2"), "1"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("updating an old revision: %v", err)
	}
	if err := s.Update(k, object("a", "x", "2"), first.GetResourceVersion()); err != nil {
		t.Fatal(err)
	}
	if first.Object["value"] != "1" || first.GetResourceVersion() != "2" {
		t.Errorf("the update changed the object that was read before: %v", first)
	}
	if _, err := s.Delete(k, "2"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("deleting an old revision: %v", err)
	}
	last, err := s.Delete(k, "3")
	if err != nil || last.GetResourceVersion() != "4" || s.Revision() != 4 {
		t.Errorf("deleting: %v, %v at revision %d", last, err, s.Revision())
	}
	if err := s.Update(k, object("a", "x", "2"), "4"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("updating what is gone: %v", err)
	}
}

func TestListsAreOrderedAndLimitedToTheNamespace(t *testing.T) {
	s := store.New(10)
	for _, k := range []store.Key{key("a", "y"), key("a-b", "x"), key("a", "x"), key("a0", "x"), key("", "a")} {
		if err := s.Create(k, object(k.Namespace, k.Name, "")); err != nil {
			t.Fatal(err)
		}
	}
	names := func(namespace string) string {
		var out []string
		for _, o := range s.List(key("", "").Resource, namespace) {
			out = append(out, o.GetNamespace()+"/"+o.GetName())
		}
		return strings.Join(out, " ")
	}
	if got := names("a"); got != "a/x a/y" {
		t.Errorf("namespace a: %s", got)
	}
	if got := names(""); got != "/a a-b/x a/x a/y a0/x" {
		t.Errorf("all: %s", got)
	}
}

func TestOldRevisionsAreCompacted(t *testing.T) {
	s := store.New(2)
	for i := range 5 {
		if err := s.Create(key("a", fmt.Sprint(i)), object("a", fmt.Sprint(i), "")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Events(s.Oldest() - 1); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("before the oldest: %v", err)
	}
	if events, err := s.Events(s.Oldest()); err != nil || len(events) != 2 {
		t.Errorf("from the oldest: %v, %v", events, err)
	}
	if _, err := s.Events(s.Revision() + 1); !errors.Is(err, store.ErrFuture) {
		t.Errorf("after the current one: %v", err)
	}
}

// TestListAtIsWhatListWas compares lists of the past with what List returned then, and replays events onto them.
func TestListAtIsWhatListWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := store.New(5)
		resource := key("", "").Resource
		then := map[int64][]*unstructured.Unstructured{s.Revision(): nil}
		for i := range rapid.IntRange(0, 30).Draw(t, "steps") {
			k := key(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"))
			old, ok := s.Get(k)
			var err error
			switch {
			case !ok:
				err = s.Create(k, object(k.Namespace, k.Name, fmt.Sprint(i)))
			case rapid.Bool().Draw(t, "delete"):
				_, err = s.Delete(k, old.GetResourceVersion())
			default:
				err = s.Update(k, object(k.Namespace, k.Name, fmt.Sprint(i)), old.GetResourceVersion())
			}
			if err != nil {
				t.Fatal(err)
			}
			then[s.Revision()] = s.List(resource, "")
		}
		for revision, want := range then {
			got, err := s.ListAt(resource, "", revision)
			if revision < s.Oldest() {
				if !errors.Is(err, store.ErrCompacted) {
					t.Fatalf("revision %d: %v", revision, err)
				}
				continue
			}
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("revision %d: got %v, %v; want %v", revision, got, err, want)
			}
		}
	})
}
