package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apilabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// server is an API server that serves pods in pages of two, and no other kind.
type server struct {
	client.Reader
	pods int
	// expires is how many times a list is too old to be continued.
	expires int
	fail    error
	asked   []string
}

func (s *server) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	list, _ := into.(*unstructured.UnstructuredList)
	gvk := list.GroupVersionKind()
	if gvk.Kind != "PodList" {
		return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	if s.fail != nil {
		return s.fail
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	s.asked = append(s.asked, fmt.Sprintf("%s/%d", o.Continue, o.Limit))
	first := 0
	if o.Continue != "" {
		if s.expires > 0 {
			s.expires--
			return apierrors.NewResourceExpired("too old")
		}
		_, _ = fmt.Sscan(o.Continue, &first)
	}
	for i := first; i < s.pods && (i < first+2 || o.Limit == 0); i++ {
		list.Items = append(list.Items, unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": fmt.Sprintf("pod-%d", s.pods-i), "namespace": "here"},
		}})
		list.SetContinue("")
		if i+1 < s.pods && o.Limit != 0 {
			list.SetContinue(fmt.Sprint(i + 1))
		}
	}
	return nil
}

func podsOf(t *testing.T, s Snapshot) []string {
	t.Helper()
	var text bytes.Buffer
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	m, err := newReader(t).Read("captured.yaml", &text)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range m.Objects {
		out = append(out, o.GetNamespace()+"/"+o.GetName())
	}
	return out
}

func TestEverythingIsReadPageByPage(t *testing.T) {
	want := []string{"here/pod-1", "here/pod-2", "here/pod-3", "here/pod-4", "here/pod-5"}
	for name, c := range map[string]struct {
		server server
		asked  []string
	}{
		"in pages":                      {server{pods: 5}, []string{"/500", "2/500", "4/500"}},
		"in one piece, if pages expire": {server{pods: 5, expires: 1}, []string{"/500", "2/500", "/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newFormat(t).Capture(t.Context(), &c.server, "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, podsOf(t, s)); diff != "" {
				t.Errorf("pods (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(c.asked, c.server.asked); diff != "" {
				t.Errorf("asked for (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]Count{{"Pod", 5}}, s.Count()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKindsThatAreNotServedAreLeftOut(t *testing.T) {
	s, err := newFormat(t).Capture(t.Context(), &server{}, "")
	if err != nil || len(s.Absent) != len(s.format.kinds)-1 {
		t.Errorf("absent %v, %v; want all kinds but one", s.Absent, err)
	}
}

func TestWhatMayNotBeReadEndsTheCapture(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no rights"))
	_, err := newFormat(t).Capture(t.Context(), &server{fail: forbidden}, "")
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "listing objects of kind Pod in v1") {
		t.Errorf("error %v, want the refusal with the kind", err)
	}
}

// TestWhoMayNotListPoliciesGetsTheRest: the snapshot names them as not listed.
func TestWhoMayNotListPoliciesGetsTheRest(t *testing.T) {
	s, err := newFormat(t).Capture(t.Context(), &policiesServer{server{pods: 1}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"OperationsPolicy"}, s.Forbidden); diff != "" {
		t.Errorf("forbidden (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]Count{{"Pod", 1}}, s.Count()); diff != "" {
		t.Errorf("captured (-want +got)\n%s", diff)
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml.gz")
	if err := s.Save(file); err != nil {
		t.Fatal(err)
	}
	held, err := Read(newReader(t), file, nil)
	if err != nil || len(held.Objects) != 1 || !slices.Equal(held.Forbidden, []string{Policies}) {
		t.Errorf("read %d objects without %q, error %v; want one without OperationsPolicies", len(held.Objects), held.Forbidden, err)
	}
}

// policiesServer refuses to list OperationsPolicies.
type policiesServer struct{ server }

func (s *policiesServer) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if into.GetObjectKind().GroupVersionKind().Kind == "OperationsPolicyList" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "operationspolicies"}, "", errors.New("no rights"))
	}
	return s.server.List(ctx, into, opts...)
}

// settingsServer serves ConfigMaps only, of which it has one with the label of settings and one without.
type settingsServer struct {
	client.Reader
	// within is the only namespace whose ConfigMaps may be listed; empty for all.
	within string
}

func (s *settingsServer) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	list, _ := into.(*unstructured.UnstructuredList)
	gvk := list.GroupVersionKind()
	if gvk.Kind != "ConfigMapList" {
		return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	if s.within != "" && o.Namespace != s.within {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no rights"))
	}
	for name, set := range map[string]apilabels.Set{"karpenter-settings": {options.PublishedLabel: "controller"}, "other": {}} {
		if o.LabelSelector != nil && o.LabelSelector.Matches(set) || o.LabelSelector == nil {
			item := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"version": "1"}}}
			item.SetName(name)
			item.SetNamespace("infra")
			item.SetLabels(set)
			list.Items = append(list.Items, item)
		}
	}
	return nil
}

// TestOfConfigMapsOnlySettingsAreRead: not even the names of others are requested, and who may not list any gets a snapshot without them.
func TestOfConfigMapsOnlySettingsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		within, namespace string
		want, forbidden   []string
	}{
		"in all namespaces":          {"", "", []string{"infra/karpenter-settings"}, nil},
		"in the one that is allowed": {"infra", "infra", []string{"infra/karpenter-settings"}, nil},
		"nowhere":                    {"infra", "", nil, []string{"ConfigMap"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newFormat(t).Capture(t.Context(), &settingsServer{within: c.within}, c.namespace)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, podsOf(t, s)); diff != "" {
				t.Errorf("captured (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(c.forbidden, s.Forbidden); diff != "" {
				t.Errorf("forbidden (-want +got)\n%s", diff)
			}
		})
	}
}
