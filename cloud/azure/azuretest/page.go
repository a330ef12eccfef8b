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

// sorted are the resources of a type, or all of them for an empty one, in the order of their IDs.
func (a *Account) sorted(kind string) []*resource {
	out := make([]*resource, 0, len(a.resources))
	for _, r := range a.resources {
		if kind == "" || strings.EqualFold(kindOf(r.id), kind) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, byID)
	return out
}

// under are the resources whose ID is that of a collection and a name.
func (a *Account) under(collection string) []*resource {
	prefix := strings.ToLower(strings.TrimSuffix(collection, "/")) + "/"
	var out []*resource
	for key, r := range a.resources {
		if name, found := strings.CutPrefix(key, prefix); found && !strings.Contains(name, "/") {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, byID)
	return out
}

// byID orders resources.
func byID(x, y *resource) int { return strings.Compare(x.id, y.id) }

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
