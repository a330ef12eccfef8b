package front

import (
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilversion "k8s.io/apimachinery/pkg/version"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
)

// kinds are the served kinds, by group, version and resource.
func (s *Server) kinds() []*kind.Kind {
	var out []*kind.Kind
	_ = s.Do(func(r *registry.Registry) error {
		out = r.Kinds()
		return nil
	})
	// Groups are in order, so that those of reviews come where they belong.
	i := slices.IndexFunc(out, func(k *kind.Kind) bool { return k.Group > authorizationv1.GroupName })
	return slices.Insert(out, max(i, 0), reviewKinds()...)
}

// paths lists where the server can be asked.
func (s *Server) paths(w http.ResponseWriter, _ *http.Request) {
	out := []string{"/api", "/api/v1", "/apis"}
	for _, group := range groupsOf(s.kinds()) {
		out = append(out, "/apis/"+group.Name)
		for _, v := range group.Versions {
			out = append(out, "/apis/"+v.GroupVersion)
		}
	}
	respond(w, http.StatusOK, metav1.RootPaths{Paths: append(out, "/healthz", "/livez", "/openapi/v3", "/readyz", "/version")})
}

// groupsOf are the groups of the kinds, but for the core group, with their versions, the preferred one first.
func groupsOf(kinds []*kind.Kind) []metav1.APIGroup {
	var out []metav1.APIGroup
	for _, k := range kinds {
		if k.Group == "" {
			continue
		}
		i := slices.IndexFunc(out, func(g metav1.APIGroup) bool { return g.Name == k.Group })
		if i < 0 {
			i, out = len(out), append(out, metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: k.Group})
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion().String(), Version: k.Version}
		if !slices.Contains(out[i].Versions, v) {
			out[i].Versions = append(out[i].Versions, v)
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Versions, func(a, b metav1.GroupVersionForDiscovery) int {
			return utilversion.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
		out[i].PreferredVersion = out[i].Versions[0]
	}
	return out
}

// groups answers /api and /apis.
func (s *Server) groups(w http.ResponseWriter, req *http.Request, path string) {
	if req.Method != http.MethodGet {
		fail(w, methodNotAllowed())
		return
	}
	kinds := s.kinds()
	if wantsAggregated(req) {
		aggregated(w, kinds, path)
		return
	}
	if path == "api" {
		respond(w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: req.Host}},
		})
		return
	}
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: groupsOf(kinds)}
	for i := range out.Groups {
		out.Groups[i].TypeMeta = metav1.TypeMeta{}
	}
	respond(w, http.StatusOK, out)
}

// wantsAggregated: the client takes all of discovery in one document, in the version that the server has.
func wantsAggregated(req *http.Request) bool {
	for _, part := range strings.Split(req.Header.Get("Accept"), ",") {
		if _, p := mediaType(part); p["as"] == "APIGroupDiscoveryList" && p["g"] == "apidiscovery.k8s.io" && p["v"] == "v2" {
			return true
		}
	}
	return false
}

// resources answers /api/v1, /apis/GROUP and /apis/GROUP/VERSION.
func (s *Server) resources(w http.ResponseWriter, req *http.Request, parts []string) {
	if req.Method != http.MethodGet {
		fail(w, methodNotAllowed())
		return
	}
	kinds, group, version := s.kinds(), "", parts[len(parts)-1]
	if parts[0] == "apis" {
		group = parts[1]
	}
	if parts[0] == "apis" && len(parts) == 2 {
		for _, g := range groupsOf(kinds) {
			if g.Name == group {
				respond(w, http.StatusOK, g)
				return
			}
		}
		notFound(w)
		return
	}
	out := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, k := range kinds {
		if k.Group != group || k.Version != version {
			continue
		}
		out.GroupVersion = k.GroupVersion().String()
		out.APIResources = append(out.APIResources, metav1.APIResource{
			Name: k.Plural, SingularName: k.Singular, Namespaced: k.Namespaced, Kind: k.Kind, Verbs: verbs(k),
			ShortNames: k.ShortNames, Categories: k.Categories,
		})
		for _, sub := range subresources(k) {
			r := metav1.APIResource{Name: k.Plural + "/" + sub.name, Namespaced: k.Namespaced, Kind: sub.kind, Verbs: sub.verbs}
			if sub.group != k.Group || sub.version != k.Version {
				r.Group, r.Version = sub.group, sub.version
			}
			out.APIResources = append(out.APIResources, r)
		}
	}
	if out.GroupVersion == "" {
		if slices.ContainsFunc(kinds, func(k *kind.Kind) bool { return k.Group == group && k.New != nil }) {
			fail(w, unknownResource())
		} else {
			notFound(w)
		}
		return
	}
	respond(w, http.StatusOK, out)
}

func verbs(k *kind.Kind) metav1.Verbs {
	out := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	if k.Group == authorizationv1.GroupName {
		return metav1.Verbs{"create"}
	}
	if k.New == nil {
		out = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
	if k.Group == "" && k.Kind == "Namespace" {
		out = slices.DeleteFunc(out, func(v string) bool { return v == "deletecollection" })
	}
	return out
}

type subresource struct {
	name, group, version, kind string
	verbs                      metav1.Verbs
}

func subresources(k *kind.Kind) []subresource {
	change := metav1.Verbs{"get", "patch", "update"}
	var out []subresource
	if k.Status && k.New == nil {
		out = append(out, subresource{"status", k.Group, k.Version, k.Kind, change})
	}
	if k.Scale != nil {
		out = append(out, subresource{"scale", "autoscaling", "v1", "Scale", change})
	}
	if k.Status && k.New != nil {
		out = append(out, subresource{"status", k.Group, k.Version, k.Kind, change})
	}
	switch {
	case k.Group == "" && k.Kind == "Pod":
		out = append(out, subresource{"binding", "", "v1", "Binding", metav1.Verbs{"create"}}, subresource{"eviction", "policy", "v1", "Eviction", metav1.Verbs{"create"}})
	case k.Group == "" && k.Kind == "Namespace":
		out = append(out, subresource{"finalize", "", "v1", "Namespace", metav1.Verbs{"update"}})
	}
	return out
}

// aggregated answers with all groups, versions and resources at once.
func aggregated(w http.ResponseWriter, kinds []*kind.Kind, path string) {
	out := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	groups := groupsOf(kinds)
	if path == "api" {
		groups = []metav1.APIGroup{{Versions: []metav1.GroupVersionForDiscovery{{Version: "v1"}}}}
	}
	for _, g := range groups {
		discovered := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
		for _, v := range g.Versions {
			version := apidiscoveryv2.APIVersionDiscovery{Version: v.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
			for _, k := range kinds {
				if k.Group == g.Name && k.Version == v.Version {
					version.Resources = append(version.Resources, discoveredResource(k))
				}
			}
			discovered.Versions = append(discovered.Versions, version)
		}
		out.Items = append(out.Items, discovered)
	}
	w.Header().Set("Vary", "Accept")
	raw := "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	respondAs(w, raw, http.StatusOK, out)
}

func discoveredResource(k *kind.Kind) apidiscoveryv2.APIResourceDiscovery {
	out := apidiscoveryv2.APIResourceDiscovery{
		Resource: k.Plural, ResponseKind: &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind},
		Scope: apidiscoveryv2.ScopeCluster, SingularResource: k.Singular, Verbs: verbs(k), ShortNames: k.ShortNames, Categories: k.Categories,
	}
	if k.Namespaced {
		out.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, sub := range subresources(k) {
		out.Subresources = append(out.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: sub.name, ResponseKind: &metav1.GroupVersionKind{Group: sub.group, Version: sub.version, Kind: sub.kind}, Verbs: sub.verbs,
		})
	}
	return out
}
