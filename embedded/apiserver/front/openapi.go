package front

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/kind"
)

// openapi answers /openapi/v3 and the documents below it. There is no document of version 2.
func (s *Server) openapi(w http.ResponseWriter, req *http.Request, parts []string) {
	if len(parts) == 0 || parts[0] != "v3" {
		notFound(w)
		return
	}
	if req.Method != http.MethodGet {
		fail(w, methodNotAllowed())
		return
	}
	byVersion := map[string][]*kind.Kind{}
	for _, k := range s.kinds() {
		byVersion[versionPath(k.GroupVersion())] = append(byVersion[versionPath(k.GroupVersion())], k)
	}
	if len(parts) == 1 {
		paths := map[string]any{}
		for path := range byVersion {
			paths[path] = map[string]string{"serverRelativeURL": "/openapi/v3/" + path}
		}
		respond(w, http.StatusOK, map[string]any{"paths": paths})
		return
	}
	kinds := byVersion[strings.Join(parts[1:], "/")]
	if kinds == nil {
		notFound(w)
		return
	}
	respond(w, http.StatusOK, document(kinds, s.options.Version.GitVersion))
}

func versionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// document describes the kinds of a version: their schemas, and the operations with which kubectl finds out what the server supports.
func document(kinds []*kind.Kind, version string) map[string]any {
	schemas, paths := map[string]any{}, map[string]any{}
	for _, k := range kinds {
		name, model := k.Model(schemas)
		schemas[name] = model
		ref := map[string]any{"$ref": "#/components/schemas/" + name}
		base := "/" + versionPath(k.GroupVersion()) + "/"
		if k.Namespaced {
			base += "namespaces/{namespace}/"
		}
		gvk := map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
		query := func(names ...string) []any {
			var out []any
			for _, n := range names {
				out = append(out, map[string]any{"name": n, "in": "query", "schema": map[string]any{"type": "string", "uniqueItems": true}})
			}
			return out
		}
		operation := func(action string, parameters []any) map[string]any {
			return map[string]any{
				"x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk, "parameters": parameters,
				"responses": map[string]any{"200": map[string]any{"description": "OK", "content": map[string]any{"application/json": map[string]any{"schema": ref}}}},
			}
		}
		write := query("dryRun", "fieldManager", "fieldValidation")
		paths[base+k.Plural] = map[string]any{"get": operation("list", query("labelSelector", "fieldSelector", "limit", "continue", "watch")), "post": operation("post", write)}
		paths[base+k.Plural+"/{name}"] = map[string]any{
			"get": operation("get", nil), "put": operation("put", write), "patch": operation("patch", append(write, query("force")...)),
			"delete": operation("delete", query("dryRun", "gracePeriodSeconds", "propagationPolicy")),
		}
	}
	return map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": "Kubernetes", "version": version},
		"paths": paths, "components": map[string]any{"schemas": schemas},
	}
}
