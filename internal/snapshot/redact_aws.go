package snapshot

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// What replaces texts of AWS has their form, because the definition of EC2NodeClasses demands it: an id begins with its kind, and
// an account has twelve digits.

// idOfAWS is the form of ids of which a class speaks.
var idOfAWS = regexp.MustCompile(`(subnet|sg|cr|pg|ami|snap)-[0-9a-z]+`)

// namesByID reports whether the values of a label are ids of AWS that belong to an account, although everybody knows the label.
func namesByID(label string) bool {
	return label == awsv1.LabelCapacityReservationID || label == awsv1.LabelPlacementGroupID
}

// otherID replaces an id by one of the same kind.
func otherID(id string, rename func(string) string) string {
	kind := idOfAWS.FindStringSubmatch(id)
	if kind == nil {
		return rename(id)
	}
	return kind[1] + "-" + strings.ReplaceAll(rename(id), "-", "")
}

// otherAccount replaces the number of an account by another one, and names of accounts by pseudonyms. Names that all accounts share
// stay.
func otherAccount(owner string, rename func(string) string) string {
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

// anyValue stands for any value in the tags of a selector.
const anyValue = "*"

// otherTags replaces tags and their values.
func otherTags(all map[string]any, rename func(string) string) map[string]any {
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		value, isText := all[key].(string)
		renamed := all[key]
		if isText && value != anyValue {
			renamed = rename(value)
		}
		out[rename(key)] = renamed
	}
	return out
}
