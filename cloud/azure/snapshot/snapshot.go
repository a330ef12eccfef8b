// Package snapshot says what snapshots of clusters hold of AKSNodeClasses, and how what identifies a subscription is redacted.
//
// Replacements have the form of what they replace, because the definition of AKSNodeClasses demands it. Equal names have equal replacements
// wherever they stand: the resource group of nodes in a setting, a label and the id of a subnet.
package snapshot

import (
	_ "embed"
	"strings"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
)

//go:embed fields.txt
var fields string

// settings are the published settings that only this provider has; internal/snapshot/fields.txt or another provider lists the others.
const settings = `    network-plugin =
    network-plugin-mode =
    node-resource-group armname
`

// The marks of fields.txt.
const (
	markID    = "armid"
	markName  = "armname"
	markImage = "image"
	markZone  = "dnszone"
	markTags  = "azuretags"
	// markPublic is for labels that are not well-known, because pods do not select by them, and that say nothing about their owner.
	markPublic = "azurepublic"
)

// Plugin returns what the provider registers for snapshots.
func Plugin() plugin.Snapshot {
	return plugin.Snapshot{
		Fields:   fields,
		Settings: settings,
		Redactors: map[string]plugin.Redactor{
			markID: plugin.RedactText(redactID), markName: plugin.RedactText(redactName), markImage: plugin.RedactText(redactImage),
			markZone: plugin.RedactText(redactZone), markTags: plugin.RedactTags(),
			markPublic: func(value any, _ func(string) string) any { return value },
		},
		Labels: map[string]string{label.AKSCluster: markName, label.AKSNetworkSubnet: markName, label.SKUHyperVGeneration: markPublic},
	}
}

// redactName replaces a name of a resource, in the form that it has as the value of a label. Azure does not distinguish upper and lower case
// in names. A pseudonym ends with ! if it is of a text that is no value of a label; names of resources do not.
func redactName(name string, rename func(string) string) string {
	return strings.TrimSuffix(rename(strings.ToLower(label.ClusterValue(name))), "!")
}

// redactID replaces the names in an ARM id, which stand behind a word that says what they name. What is no id is replaced as a whole.
func redactID(id string, rename func(string) string) string {
	return redactSegments(id, rename, func(word string) bool { return !strings.EqualFold(word, "providers") })
}

// redactImage replaces the subscription and the resource group in the id of an image; the names of galleries and images are those of AKS.
func redactImage(id string, rename func(string) string) string {
	if strings.HasPrefix(strings.ToLower(id), "/communitygalleries/") {
		return id // public
	}
	return redactSegments(id, rename, func(word string) bool {
		return strings.EqualFold(word, "subscriptions") || strings.EqualFold(word, "resourceGroups")
	})
}

// redactSegments replaces the segments of an ARM id behind words that name something.
func redactSegments(id string, rename func(string) string, names func(word string) bool) string {
	segments := strings.Split(id, "/")
	if len(segments) < 3 || segments[0] != "" || !strings.EqualFold(segments[1], "subscriptions") || len(segments)%2 == 0 {
		return redactName(id, rename)
	}
	for i := 1; i+1 < len(segments); i += 2 {
		if names(segments[i]) {
			segments[i+1] = redactName(segments[i+1], rename)
		}
	}
	return strings.Join(segments, "/")
}

// clusterZone is the DNS zone of clusters. Rules about zones ask whether a name ends with it.
const clusterZone = "cluster.local"

// redactZone replaces a DNS zone.
func redactZone(zone string, rename func(string) string) string {
	switch {
	case zone == "." || zone == clusterZone:
		return zone
	case strings.HasSuffix(zone, clusterZone):
		return redactName(zone, rename) + "." + clusterZone
	default:
		return redactName(zone, rename)
	}
}
