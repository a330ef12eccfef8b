package azuretest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// page is a page of a list, with the link to the next one. The parameter $skipToken is the number of items before it.
func (a *Account) page(r *request, items []map[string]any) *response {
	query := r.http.URL.Query()
	from, _ := strconv.Atoi(query.Get("$skipToken"))
	from = min(max(from, 0), len(items))
	to := min(from+a.pageSize, len(items))
	out := map[string]any{"value": items[from:to]}
	if to < len(items) {
		query.Set("$skipToken", strconv.Itoa(to))
		out["nextLink"] = baseURL(r.http) + r.http.URL.Path + "?" + query.Encode()
	}
	return ok(out)
}

// sorted are all resources in the order of their IDs.
func (a *Account) sorted() []*resource {
	out := make([]*resource, 0, len(a.resources))
	for _, r := range a.resources {
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y *resource) int { return strings.Compare(x.id, y.id) })
	return out
}

// under are the resources whose ID is that of a collection and a name.
func (a *Account) under(collection string) []*resource {
	prefix := strings.ToLower(strings.TrimSuffix(collection, "/")) + "/"
	return slices.DeleteFunc(a.sorted(), func(r *resource) bool {
		name, found := strings.CutPrefix(strings.ToLower(r.id), prefix)
		return !found || strings.Contains(name, "/")
	})
}

// listGroup lists the resources of a type in a resource group.
func listGroup(a *Account, r *request) (*response, error) {
	items := []map[string]any{}
	for _, found := range a.under(r.http.URL.Path) {
		items = append(items, found.show())
	}
	return a.page(r, items), nil
}

// readRoute is a route that reads, without a resource group.
func readRoute(pattern, operation, version string, serve func(*Account, *request) (*response, error)) route {
	return route{method: http.MethodGet, pattern: pattern, operation: operation, versions: []string{version}, serve: serve}
}
