// Package image chooses the images of AKS nodes: which versions a class uses, and which image an instance type gets.
//
// Source: Azure provider specification, galleries and identifiers, version discovery, which image a node gets, when images change.
package image

import (
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/cloud/azure/family"
)

// ID is the id of a version of an image, in parts. Subscription and ResourceGroup are empty for community galleries.
type ID struct {
	Subscription, ResourceGroup  string
	Gallery, Definition, Version string
}

// CommunityID returns the id of a version in the community gallery of a family.
func CommunityID(f family.Family, definition, version string) ID {
	return ID{Gallery: f.Gallery().PublicName, Definition: definition, Version: version}
}

// SharedID returns the id of a version in the shared image gallery of a family, which is in a subscription of AKS.
func SharedID(f family.Family, subscription, definition, version string) ID {
	g := f.Gallery()
	return ID{Subscription: subscription, ResourceGroup: g.ResourceGroup, Gallery: g.Name, Definition: definition, Version: version}
}

// Community reports whether the image is in a community gallery.
func (id ID) Community() bool { return id.Subscription == "" }

// String returns the id as Azure writes it.
func (id ID) String() string {
	image := id.Gallery + "/images/" + id.Definition + "/versions/" + id.Version
	if id.Community() {
		return "/CommunityGalleries/" + image
	}
	return "/subscriptions/" + id.Subscription + "/resourceGroups/" + id.ResourceGroup + "/providers/Microsoft.Compute/galleries/" + image
}

// NodeImageVersion returns the name that AKS has for the version, such as AKSUbuntu-2204gen2containerd-202606.10.0. Versions in community
// galleries have none, which is an error.
func (id ID) NodeImageVersion() (string, error) {
	if id.Community() {
		return "", fmt.Errorf("naming the node image version of %q: the image is in a community gallery", id)
	}
	return id.Gallery + "-" + id.Definition + "-" + id.Version, nil
}

// ParseID parses the id of a version of an image. Azure does not distinguish upper and lower case in its keywords.
func ParseID(text string) (ID, error) {
	parts := strings.Split(text, "/")
	if names, ok := match(parts, "", "CommunityGalleries", "*", "images", "*", "versions", "*"); ok {
		return ID{Gallery: names[0], Definition: names[1], Version: names[2]}, nil
	}
	names, ok := match(parts, "", "subscriptions", "*", "resourceGroups", "*", "providers", "Microsoft.Compute", "galleries", "*", "images", "*", "versions", "*")
	if !ok {
		return ID{}, fmt.Errorf("parsing the id %q of an image: want a version in a community gallery or in a shared image gallery", text)
	}
	return ID{Subscription: names[0], ResourceGroup: names[1], Gallery: names[2], Definition: names[3], Version: names[4]}, nil
}

// match compares the segments of an id with keywords, and returns those that stand for an asterisk. None of these may be empty.
func match(parts []string, keywords ...string) ([]string, bool) {
	if len(parts) != len(keywords) {
		return nil, false
	}
	var names []string
	for i, keyword := range keywords {
		switch {
		case keyword == "*" && parts[i] != "":
			names = append(names, parts[i])
		case keyword == "*" || !strings.EqualFold(parts[i], keyword):
			return nil, false
		}
	}
	return names, true
}
