package nodeclass_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kwok "github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

func (w *world) hashed() {
	w.t.Helper()
	if _, err := w.hasher.Reconcile(w.t.Context(), request()); err != nil {
		w.t.Fatal(err)
	}
}

// edit changes the class, as users do.
func (w *world) edit(change func(*kwok.KWOKNodeClass)) {
	w.t.Helper()
	class := w.class()
	change(class)
	if err := w.client.Update(w.t.Context(), class); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) annotationsOf(claim string) map[string]string {
	w.t.Helper()
	found := &v1.NodeClaim{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: claim}, found); err != nil {
		w.t.Fatal(err)
	}
	return found.Annotations
}

// The hash follows the class, other annotations stay, and NodeClaims keep the hash that they were launched with.
func TestTheHashFollowsTheClass(t *testing.T) {
	w := newWorld(t)
	launched := map[string]string{hashKey: "hash-of-a", rulesKey: "v2"}
	w.claim("launched", kwok.Group, "default", launched, false)
	w.edit(func(class *kwok.KWOKNodeClass) { class.Annotations = map[string]string{"mine": "kept"} })
	w.hashed()
	if diff := cmp.Diff(map[string]string{"mine": "kept", hashKey: "hash-of-a", rulesKey: "v2"}, w.class().Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	written := w.writes
	w.hashed()
	if w.writes != written {
		t.Error("the same hash is written again")
	}
	w.edit(func(class *kwok.KWOKNodeClass) { class.Labels["spec"] = "b" })
	w.hashed()
	if got := w.class().Annotations[hashKey]; got != "hash-of-b" {
		t.Errorf("hash %q", got)
	}
	if diff := cmp.Diff(launched, w.annotationsOf("launched")); diff != "" {
		t.Errorf("the NodeClaim has changed and cannot drift (-want +got):\n%s", diff)
	}
}

// With other rules of the hash, NodeClaims get the new hash before the class does, except those that have drifted.
func TestOtherRules(t *testing.T) {
	old := map[string]string{hashKey: "old", rulesKey: "v1"}
	w := newWorld(t)
	w.edit(func(class *kwok.KWOKNodeClass) { class.Annotations = maps.Clone(old) })
	w.claim("stays", kwok.Group, "default", maps.Clone(old), false)
	w.claim("drifted", kwok.Group, "default", maps.Clone(old), true)
	w.claim("bare", kwok.Group, "default", nil, false)
	w.claim("migrated", kwok.Group, "default", map[string]string{hashKey: "other", rulesKey: "v2"}, false)
	w.claim("foreign", kwok.Group, "other", maps.Clone(old), false)
	broken := errors.New("the API server is broken")
	w.faults["patch NodeClaim"] = broken
	if _, err := w.hasher.Reconcile(t.Context(), request()); !errors.Is(err, broken) || w.class().Annotations[rulesKey] != "v1" {
		t.Errorf("the class is migrated before its NodeClaims: %v, %v", err, w.class().Annotations)
	}
	w.faults["patch NodeClaim"] = conflict()
	if result, err := w.hasher.Reconcile(t.Context(), request()); err != nil || result.RequeueAfter != time.Second || w.class().Annotations[rulesKey] != "v1" {
		t.Errorf("a conflict: %v, %v, %v", result, err, w.class().Annotations)
	}
	delete(w.faults, "patch NodeClaim")
	w.hashed()
	now := map[string]string{hashKey: "hash-of-a", rulesKey: "v2"}
	for claim, want := range map[string]map[string]string{
		"stays": now, "bare": now, "foreign": old,
		"drifted": {hashKey: "old", rulesKey: "v2"}, "migrated": {hashKey: "other", rulesKey: "v2"},
	} {
		if diff := cmp.Diff(want, w.annotationsOf(claim)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", claim, diff)
		}
	}
	if diff := cmp.Diff(now, w.class().Annotations); diff != "" {
		t.Errorf("the class (-want +got):\n%s", diff)
	}
}

// A NodeClaim that goes while the class is migrated does not stop it.
func TestOtherRulesOfNodeClaimsThatGo(t *testing.T) {
	w := newWorld(t)
	w.edit(func(class *kwok.KWOKNodeClass) { class.Annotations = map[string]string{hashKey: "old", rulesKey: "v1"} })
	w.claim("going", kwok.Group, "default", nil, false)
	w.faults["patch NodeClaim"] = notFound()
	w.hashed()
	if got := w.class().Annotations[rulesKey]; got != "v2" {
		t.Errorf("version %q", got)
	}
}

// A class without a version is new: no NodeClaim is changed. One that is being deleted is left alone.
func TestNewAndDeletedClasses(t *testing.T) {
	w := newWorld(t)
	w.claim("unknown", kwok.Group, "default", nil, false)
	w.hashed()
	if got := w.annotationsOf("unknown"); len(got) > 0 {
		t.Errorf("the NodeClaim has got %v", got)
	}
	w.edit(func(class *kwok.KWOKNodeClass) {
		class.Finalizers, class.Labels["spec"] = []string{finalizer}, "b"
	})
	w.delete()
	w.hashed()
	if got := w.class().Annotations[hashKey]; got != "hash-of-a" {
		t.Errorf("the deleted class has got hash %q", got)
	}
}
