package awstest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// getProducts returns the on-demand prices of Linux in the format of the price list.
func getProducts(a *Account, f *form) (any, error) {
	var in struct {
		ServiceCode, NextToken string
		MaxResults             int
		Filters                []struct{ Type, Field, Value string }
	}
	if err := json.Unmarshal([]byte(f.body), &in); err != nil {
		return nil, refuse("SerializationException", "%v", err)
	}
	if in.ServiceCode != "AmazonEC2" || in.MaxResults < 1 || in.MaxResults > 100 {
		return nil, refuse("InvalidParameterException", "ServiceCode or MaxResults")
	}
	want := map[string]string{}
	for _, filter := range in.Filters {
		if filter.Type != "TERM_MATCH" || !slices.Contains([]string{
			"regionCode", "serviceCode", "preInstalledSw", "operatingSystem", "capacitystatus", "marketoption", "tenancy", "productFamily",
		}, filter.Field) {
			return nil, refuse("InvalidParameterException", "The filter %s %s is invalid", filter.Type, filter.Field)
		}
		want[filter.Field] = filter.Value
	}
	if want["regionCode"] != a.region || want["operatingSystem"] != "Linux" {
		return map[string]any{"PriceList": []string{}}, nil
	}
	metal := want["productFamily"] == "Compute Instance (bare metal)"
	found := keep(a.types, func(t typeInfo) bool { return t.wire.BareMetal == metal })
	from, _ := strconv.Atoi(in.NextToken) // empty for the first page
	to := min(from+in.MaxResults, len(found))
	list := []string{}
	for _, t := range found[from:to] {
		list = append(list, fmt.Sprintf(`{"product":{"attributes":{"instanceType":%q}},"terms":{"OnDemand":{"A":{"priceDimensions":{"B":{"pricePerUnit":{%q:"%.10f"}}}}}}}`,
			t.name, currency(a.region), t.onDemand))
	}
	answer := map[string]any{"FormatVersion": "aws_v1", "PriceList": list}
	if to < len(found) {
		answer["NextToken"] = strconv.Itoa(to)
	}
	return answer, nil
}

// currency is the currency of a region.
func currency(region string) string {
	if len(region) > 3 && region[:3] == "cn-" {
		return "CNY"
	}
	return "USD"
}
