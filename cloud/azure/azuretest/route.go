package azuretest

import (
	"net/http"
	"slices"
	"strings"
)

// route is a kind of request.
type route struct {
	method string
	// pattern is a path; {} matches a part of it.
	pattern string
	// operation names it in calls and troubles.
	operation string
	// versions are the api-versions that are accepted; none if the service has no such parameter.
	versions []string
	// open routes need no token.
	open bool
	// serve runs with the account locked.
	serve func(*Account, *request) (*response, error)
}

// Versions of APIs. Clients of newer SDKs send the second one for networks.
const (
	versionCompute = "2025-04-01"
	versionNetwork = "2022-01-01"
	versionSDK     = "2024-05-01"
)

// routes are all kinds of requests.
func routes() []route {
	return slices.Concat(entraRoutes(), operationRoutes(), virtualMachineRoutes(), networkRoutes(), graphRoutes(), computeRoutes(), machineRoutes(), openRoutes())
}

// inGroup is the pattern of a resource in a resource group.
func inGroup(kind string) string {
	return "/subscriptions/{}/resourceGroups/{}/providers/" + kind
}

// match returns the texts at the variables of a pattern; false if it does not match. Paths of ARM ignore case.
func match(pattern, path string) ([]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(want) != len(have) {
		return nil, false
	}
	var names []string
	for i := range want {
		switch {
		case want[i] == "{}" && have[i] != "":
			names = append(names, have[i])
		case !strings.EqualFold(want[i], have[i]):
			return nil, false
		}
	}
	return names, true
}

// find is the route of a request, with the texts at the variables of its pattern.
func (a *Account) find(r *http.Request) (route, []string, error) {
	for _, candidate := range a.routes {
		if candidate.method != r.Method {
			continue
		}
		if names, matches := match(candidate.pattern, r.URL.Path); matches {
			return candidate, names, nil
		}
	}
	return route{}, nil, refuse(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found for %s %s.", r.Method, r.URL.Path)
}

// admit checks the token, the api-version, the subscription and the resource group.
func (a *Account) admit(r *http.Request, to route) error {
	if !to.open && !a.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
		return refuse(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
	}
	version := r.URL.Query().Get("api-version")
	if to.versions != nil && version == "" {
		return refuse(http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	if to.versions != nil && !slices.Contains(to.versions, version) {
		return refuse(http.StatusBadRequest, "NoRegisteredProviderFound",
			"No registered resource provider found for location '%s' and API version '%s' for type '%s'. The supported api-versions are '%s'.",
			a.location, version, to.operation, strings.Join(to.versions, ", "))
	}
	if to.open {
		return nil
	}
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) > 2 && strings.EqualFold(parts[1], "subscriptions") && !strings.EqualFold(parts[2], Subscription) {
		return refuse(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", parts[2])
	}
	if len(parts) > 4 && strings.EqualFold(parts[3], "resourceGroups") &&
		!slices.ContainsFunc(a.groups, func(group string) bool { return strings.EqualFold(group, parts[4]) }) {
		return refuse(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", parts[4])
	}
	return nil
}
