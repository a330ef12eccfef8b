package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Path is where a controller serves its ledger. It is not below /api: the ClusterRole system:discovery of Kubernetes lets all authenticated users
// get the non-resource URLs /api/*, so that a permission to get this path would mean nothing.
const Path = "/console/api/v1/ledger"

// Query is a request for records.
type Query struct {
	Filter
	// Limit is the most records to return, the newest ones; 0 for all.
	Limit int
}

// Answer is the answer to a Query.
type Answer struct {
	// Leader is set when the process is the leader. Others have no records of this term.
	Leader bool `json:"leader"`
	// Coverage says which records there are, whether the query selects them or not.
	Coverage Coverage `json:"coverage"`
	// Omitted is the number of records that the query selects and its limit leaves out.
	Omitted int `json:"omitted,omitempty"`
	// Records are those that the query selects, oldest first. docs/reference/ledger.md has their fields.
	Records []json.RawMessage `json:"records"`
}

// Answer answers a query.
func (l *Ledger) Answer(q Query) (Answer, error) {
	records, cover, err := l.Read(q.Filter)
	if err != nil {
		return Answer{}, err
	}
	return q.Answer(records, cover), nil
}

// Answer is the answer from the records that the filter of the query selects.
func (q Query) Answer(records []json.RawMessage, cover Coverage) Answer {
	out := Answer{Coverage: cover, Records: records}
	if q.Limit > 0 && len(records) > q.Limit {
		out.Omitted = len(records) - q.Limit
		out.Records = records[out.Omitted:]
	}
	return out
}

// Values is the query as parameters of a URL.
func (q Query) Values() url.Values {
	out := url.Values{}
	for key, text := range map[string]string{"node": q.Node, "nodepool": q.NodePool, "nodeclaim": q.NodeClaim} {
		if text != "" {
			out.Set(key, text)
		}
	}
	for key, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			out.Set(key, at.UTC().Format(time.RFC3339Nano))
		}
	}
	for _, kind := range q.Kinds {
		out.Add("kind", string(kind))
	}
	if q.After > 0 {
		out.Set("after", strconv.FormatUint(q.After, 10))
	}
	if q.Limit > 0 {
		out.Set("limit", strconv.Itoa(q.Limit))
	}
	return out
}

// ParseQuery is the reverse of Values: since and until in RFC 3339, kind any number of times, node, nodepool, nodeclaim, after (a number of a
// record), limit. Unknown parameters are errors.
func ParseQuery(values url.Values) (Query, error) {
	var q Query
	for key, texts := range values {
		var err error
		text := texts[len(texts)-1]
		switch key {
		case "node":
			q.Node = text
		case "nodepool":
			q.NodePool = text
		case "nodeclaim":
			q.NodeClaim = text
		case "since":
			q.Since, err = time.Parse(time.RFC3339Nano, text)
		case "until":
			q.Until, err = time.Parse(time.RFC3339Nano, text)
		case "after":
			q.After, err = strconv.ParseUint(text, 10, 64)
		case "limit":
			if q.Limit, err = strconv.Atoi(text); q.Limit < 0 {
				err = errors.New("it must not be negative")
			}
		case "kind":
			q.Kinds, err = ParseKinds(texts)
		default:
			return Query{}, fmt.Errorf("there is no parameter %q", key)
		}
		if err != nil {
			return Query{}, fmt.Errorf("parameter %s is %q: %w", key, text, err)
		}
	}
	return q, nil
}

// ParseKinds reads names of kinds.
func ParseKinds(texts []string) ([]Kind, error) {
	var out []Kind
	for _, text := range texts {
		if !slices.Contains(Kinds(), Kind(text)) {
			var known []string
			for _, k := range Kinds() {
				known = append(known, string(k))
			}
			if text == "" {
				return nil, fmt.Errorf("the name of a kind is empty; allowed: %s", strings.Join(known, ", "))
			}
			return nil, fmt.Errorf("there is no kind %q; allowed: %s", text, strings.Join(known, ", "))
		}
		out = append(out, Kind(text))
	}
	return out, nil
}
