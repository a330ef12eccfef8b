// Package snapshot says what snapshots of clusters hold of EC2NodeClasses, and how what identifies an AWS account is redacted.
//
// Replacements have the form of what they replace, because the definition of EC2NodeClasses demands it: an id begins with its kind, and
// an account has twelve digits.
package snapshot

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
)

//go:embed fields.txt
var fields string

// settings are the published settings of the provider. The name of the cluster is replaced like other names.
const settings = `    aws-feature-gates =
    cluster-name
    isolated-vpc =
    reserved-enis =
    vm-memory-overhead-percent =
`

// The marks of fields.txt.
const (
	markID      = "awsid"
	markAccount = "account"
	markTags    = "tags"
)

// Plugin returns what the provider registers for snapshots.
func Plugin() plugin.Snapshot {
	return plugin.Snapshot{
		Fields:   fields,
		Settings: settings,
		Redactors: map[string]plugin.Redactor{
			markID: plugin.RedactText(redactID), markAccount: plugin.RedactText(redactAccount), markTags: plugin.RedactTags(anyValue),
		},
		// Well-known labels whose values are IDs of an account.
		Labels: map[string]string{awsv1.LabelCapacityReservationID: markID, awsv1.LabelPlacementGroupID: markID},
	}
}

// awsID matches the ids in node classes. Its group is the kind.
var awsID = regexp.MustCompile(`(subnet|sg|cr|pg|ami|snap)-[0-9a-z]+`)

// redactID replaces an id by one of the same kind.
func redactID(id string, rename func(string) string) string {
	kind := awsID.FindStringSubmatch(id)
	if kind == nil {
		return rename(id)
	}
	return kind[1] + "-" + strings.ReplaceAll(rename(id), "-", "")
}

// redactAccount replaces an account ID by another one, and names of accounts by pseudonyms. It keeps names that all accounts
// share.
func redactAccount(owner string, rename func(string) string) string {
	switch owner {
	case "self", "amazon", "aws-marketplace":
		return owner
	}
	pseudonym := rename(owner)
	if _, err := strconv.ParseUint(owner, 10, 64); err != nil {
		return pseudonym
	}
	_, hash, _ := strings.Cut(pseudonym, "-")
	number, _ := strconv.ParseUint(hash, 16, 64) // a pseudonym ends in eight hexadecimal digits
	return fmt.Sprintf("%012d", number)
}

// anyValue matches any value in the tags of a selector.
const anyValue = "*"
