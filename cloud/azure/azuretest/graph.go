package azuretest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"
)

// graphRoutes are those of Resource Graph.
func graphRoutes() []route {
	return []route{{
		method: http.MethodPost, pattern: "/providers/Microsoft.ResourceGraph/resources", operation: "resources",
		versions: []string{"2024-04-01"}, serve: queryGraph,
	}}
}

// query is a query for resources of a type in a resource group, whose tags have some terms and not others.
type query struct {
	kind, group string
	has, hasNot []string
}

// parseQuery reads the conditions of a query. Resource Graph has a query language; only the conditions that are needed are
// known here, and everything else is refused.
func parseQuery(text string) (query, error) {
	var out query
	stages := strings.Split(text, "|")
	if strings.TrimSpace(stages[0]) != "Resources" {
		return query{}, badQuery(stages[0])
	}
	conditions := []struct {
		pattern *regexp.Regexp
		take    func(string)
	}{
		{regexp.MustCompile(`^where type == '([^']+)'$`), func(s string) { out.kind = s }},
		{regexp.MustCompile(`^where resourceGroup == '([^']+)'$`), func(s string) { out.group = s }},
		{regexp.MustCompile(`^where tags has_cs '([^']+)'$`), func(s string) { out.has = append(out.has, s) }},
		{regexp.MustCompile(`^where not\(tags has_cs '([^']+)'\)$`), func(s string) { out.hasNot = append(out.hasNot, s) }},
	}
	for _, stage := range stages[1:] {
		known := false
		for _, condition := range conditions {
			if found := condition.pattern.FindStringSubmatch(strings.TrimSpace(stage)); found != nil {
				condition.take(found[1])
				known = true
			}
		}
		if !known {
			return query{}, badQuery(stage)
		}
	}
	return out, nil
}

// badQuery is the error for a query that the account cannot read.
func badQuery(stage string) error {
	return refuse(http.StatusBadRequest, "BadRequest", "Query is invalid: '%s' is not known to the server.", strings.TrimSpace(stage))
}

// matches reports whether a query selects a resource. Resource Graph has types and groups in lower case, and has_cs compares whole terms.
func (q query) matches(r *resource) bool {
	tags, _ := json.Marshal(r.body["tags"])
	has := func(term string) bool {
		return regexp.MustCompile(`(^|[^A-Za-z0-9])` + regexp.QuoteMeta(term) + `($|[^A-Za-z0-9])`).Match(tags)
	}
	return (q.kind == "" || q.kind == strings.ToLower(kindOf(r.id))) && (q.group == "" || q.group == strings.ToLower(groupOf(r.id))) &&
		!slices.ContainsFunc(q.has, func(term string) bool { return !has(term) }) && !slices.ContainsFunc(q.hasNot, has)
}

// queryGraph answers a query, page by page.
func queryGraph(a *Account, r *request) (*response, error) {
	var sent armresourcegraph.QueryRequest
	if _, err := decode(r.body, &sent); err != nil {
		return nil, err
	}
	if sent.Query == nil {
		return nil, refuse(http.StatusBadRequest, "BadRequest", "The query is missing.")
	}
	if len(sent.Subscriptions) != 1 || *sent.Subscriptions[0] != Subscription {
		return nil, refuse(http.StatusForbidden, "AuthorizationFailed", "The client does not have access to the subscriptions.")
	}
	if sent.Options == nil || sent.Options.ResultFormat == nil || *sent.Options.ResultFormat != armresourcegraph.ResultFormatObjectArray {
		return nil, refuse(http.StatusBadRequest, "BadRequest", "The server knows only the result format objectArray.")
	}
	q, err := parseQuery(*sent.Query)
	if err != nil {
		return nil, err
	}
	rows := a.rows(q)
	from := 0
	if sent.Options.SkipToken != nil {
		from, _ = strconv.Atoi(*sent.Options.SkipToken)
	}
	from = min(max(from, 0), len(rows))
	to := min(from+a.pageSize, len(rows))
	out := map[string]any{"totalRecords": len(rows), "count": to - from, "resultTruncated": "false", "facets": []any{}, "data": rows[from:to]}
	if to < len(rows) {
		out["$skipToken"] = strconv.Itoa(to)
	}
	answer := ok(out)
	answer.header = http.Header{}
	answer.header.Set("x-ms-user-quota-remaining", "14")
	answer.header.Set("x-ms-user-quota-resets-after", "00:00:05")
	return answer, nil
}

// rows are the resources that a query selects, among those which Resource Graph knows.
func (a *Account) rows(q query) []map[string]any {
	now, rows := a.clock.Now(), []map[string]any{}
	for _, r := range a.sorted(q.kind) {
		if !now.Before(r.visible) && q.matches(r) {
			rows = append(rows, graphRow(r))
		}
	}
	a.trouble.ghosts = slices.DeleteFunc(a.trouble.ghosts, func(r *resource) bool { return !now.Before(r.visible) })
	for _, r := range a.trouble.ghosts {
		if q.matches(r) {
			rows = append(rows, graphRow(r))
		}
	}
	return rows
}

// graphRow is a resource as Resource Graph shows it.
func graphRow(r *resource) map[string]any {
	out := r.show()
	delete(out, "etag")
	out["type"], out["resourceGroup"], out["subscriptionId"], out["tenantId"] = strings.ToLower(kindOf(r.id)), strings.ToLower(groupOf(r.id)), Subscription, Tenant
	return out
}
