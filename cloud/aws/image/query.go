package image

import (
	"maps"
	"slices"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// Default owners of images that are selected by name: the account and Amazon.
const (
	ownerSelf   = "self"
	ownerAmazon = "amazon"
)

// Query is one question for images.
type Query struct {
	Filters []Filter
	// Owners are the accepted owners of images; none means all accessible images.
	Owners []string
}

// Filter is one condition of a query: the field has one of the values.
type Filter struct {
	Name   string
	Values []string
}

// ByID is the query for images by their ids.
func ByID(ids []string) Query {
	return Query{Filters: []Filter{{"image-id", ids}}}
}

// Queries are the queries for the terms of a class, except for aliases. They include the IDs that parameters refer to,
// together with directly selected IDs. A term with an ID has no other fields.
func Queries(terms []awsv1.AMISelectorTerm, fromParameters []string) []Query {
	var ids []string
	var out []Query
	for _, term := range terms {
		switch {
		case term.ID != "":
			ids = append(ids, term.ID)
		case term.SSMParameter != "" || term.Alias != "":
		case term.Name != "" || len(term.Tags) > 0:
			out = append(out, queryOf(term))
		}
	}
	ids = append(ids, fromParameters...)
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) > 0 {
		out = append([]Query{ByID(ids)}, out...)
	}
	return out
}

// queryOf is the query of a term with a name or tags.
func queryOf(term awsv1.AMISelectorTerm) Query {
	var q Query
	if term.Name != "" {
		q.Filters = append(q.Filters, Filter{"name", []string{term.Name}})
	}
	for _, key := range slices.Sorted(maps.Keys(term.Tags)) {
		if term.Tags[key] == "*" {
			q.Filters = append(q.Filters, Filter{"tag-key", []string{key}})
			continue
		}
		q.Filters = append(q.Filters, Filter{"tag:" + key, []string{term.Tags[key]}})
	}
	switch {
	case term.Owner != "":
		q.Owners = []string{term.Owner}
	case term.Name != "":
		q.Owners = []string{ownerSelf, ownerAmazon}
	}
	return q
}
