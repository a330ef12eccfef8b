package azuretest

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// openRoutes are those of services beside ARM.
func openRoutes() []route {
	metadata := "/{}/metadata/"
	return []route{
		{method: http.MethodGet, pattern: "/api/retail/prices", operation: "prices", versions: []string{"2023-01-01-preview"}, open: true, serve: listPrices},
		{method: http.MethodGet, pattern: metadata + "instance", operation: "instance", versions: []string{versionMetadata}, open: true, serve: getInstance},
		{method: http.MethodGet, pattern: metadata + "scheduledevents", operation: "scheduledevents", versions: []string{versionEvents}, open: true, serve: listEvents},
		{method: http.MethodPost, pattern: metadata + "scheduledevents", operation: "scheduledevents", versions: []string{versionEvents}, open: true, serve: startEvents},
		{method: http.MethodGet, pattern: metadata + "identity/oauth2/token", operation: "identity token", versions: []string{"2018-02-01"}, open: true, serve: identityToken},
		{method: http.MethodGet, pattern: "/metadata/identity/oauth2/token", operation: "identity token", versions: []string{"2018-02-01"}, open: true, serve: identityToken},
		{method: http.MethodGet, pattern: "/sig/token", operation: "gallery token", open: true, serve: galleryToken},
		{
			method: http.MethodGet, pattern: inGroup("Microsoft.ContainerService/managedclusters/{}/nodeBootstrapping"), operation: "nodeBootstrapping",
			serve: bootstrap,
		},
	}
}

// prices are all prices of virtual machines: on demand, spot, and what a client must leave out.
func (a *Account) prices() []map[string]any {
	var out []map[string]any
	for _, s := range a.sizes {
		name := strings.ReplaceAll(strings.TrimPrefix(s.Name, "Standard_"), "_", " ")
		product := "Virtual Machines " + strings.TrimSuffix(strings.TrimPrefix(s.Family, "standard"), "Family") + " Series"
		add := func(suffix, product string, price float64) {
			out = append(out, map[string]any{
				"currencyCode": "USD", "retailPrice": price, "unitPrice": price, "armRegionName": a.location, "meterName": name + suffix, "skuName": name + suffix,
				"productName": product, "serviceName": "Virtual Machines", "serviceFamily": "Compute", "unitOfMeasure": "1 Hour", "type": "Consumption",
				"isPrimaryMeterRegion": true, "armSkuName": s.Name,
			})
		}
		add("", product, s.Price)
		add(" Spot", product, s.Price/5)
		add(" Low Priority", product, s.Price/4)
		add("", product+" Windows", s.Price*2)
	}
	return out
}

// listPrices serves the price list. The fields of a filter are those of items, and priceType.
func listPrices(a *Account, r *request) (*response, error) {
	items := a.prices()
	query := r.http.URL.Query()
	condition := regexp.MustCompile(`^(\w+) eq '([^']*)'$`)
	for part := range strings.SplitSeq(query.Get("$filter"), " and ") {
		found := condition.FindStringSubmatch(strings.TrimSpace(part))
		if found == nil && part != "" {
			return nil, refuse(http.StatusBadRequest, "BadRequest", "Invalid OData parameters supplied: '%s'.", part)
		}
		if part == "" {
			continue
		}
		field := strings.Replace(found[1], "priceType", "type", 1)
		items = slices.DeleteFunc(items, func(item map[string]any) bool { return item[field] != found[2] && found[1] != "currencyCode" })
	}
	skip, _ := strconv.Atoi(query.Get("$skip"))
	skip = min(max(skip, 0), len(items))
	end := min(skip+a.pageSize, len(items))
	out := map[string]any{"BillingCurrency": "USD", "CustomerEntityId": "Default", "CustomerEntityType": "Retail", "Items": items[skip:end], "Count": end - skip, "NextPageLink": nil}
	if end < len(items) {
		query.Set("$skip", strconv.Itoa(end))
		out["NextPageLink"] = baseURL(r.http) + r.http.URL.Path + "?" + query.Encode()
	}
	return ok(out), nil
}
