// Package resourcetags knows the names and tags by which what Karpenter makes in AWS is found again, and told from what belongs to
// others.
//
// Source: AWS provider specification, annotations and tags; instance profiles.
package resourcetags

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mitchellh/hashstructure/v2"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// LaunchTags are the tags of what a launch makes: the user's, and over them those that say whose it is.
func LaunchTags(user map[string]string, cluster, nodePool, class string) map[string]string {
	out := classTags(user, cluster, class)
	out[awsv1.TagNodePool] = nodePool
	return out
}

// ProfileTags are the tags of an instance profile. Profiles know no regions, and so a tag says which they are for.
func ProfileTags(user map[string]string, cluster, region, class string) map[string]string {
	out := classTags(user, cluster, class)
	out[awsv1.TagRegion] = region
	return out
}

func classTags(user map[string]string, cluster, class string) map[string]string {
	out := maps.Clone(user)
	if out == nil {
		out = map[string]string{}
	}
	out[awsv1.ClusterOwnedTag(cluster)] = awsv1.TagValueOwned
	out[awsv1.TagClusterName] = cluster
	out[awsv1.TagNodeClass] = class
	return out
}

// clusterTag matches the tags of owners, of any cluster.
var clusterTag = regexp.MustCompile(`^kubernetes\.io/cluster/[0-9A-Za-z][A-Za-z0-9\-_]*$`)

// CheckTags refuses tags that are not the user's to set. The API server does so too, but not for classes from before.
func CheckTags(user map[string]string) error {
	var restricted []string
	for _, key := range slices.Sorted(maps.Keys(user)) {
		switch {
		case clusterTag.MatchString(key),
			slices.Contains([]string{awsv1.TagNodePool, awsv1.TagClusterName, awsv1.TagNodeClass, awsv1.TagNodeClaim}, key):
			restricted = append(restricted, strconv.Quote(key))
		}
	}
	if len(restricted) == 0 {
		return nil
	}
	return fmt.Errorf("tags failed validation requirements, restricted are %s", strings.Join(restricted, ", "))
}

// ProfilePath is the path below which the instance profiles of a class are. With an empty class it is that of the cluster.
func ProfilePath(region, cluster, classUID string) string {
	path := fmt.Sprintf("/karpenter/%s/%s/", region, cluster)
	if classUID != "" {
		path += classUID + "/"
	}
	return path
}

// ProfileName is the name of a new instance profile. The unique part, such as a UUID, makes it one that was never there.
func ProfileName(cluster, region, class, unique string) string {
	return cluster + "_" + hash(region+class+unique)
}

// profileName matches the names that IAM takes.
var profileName = regexp.MustCompile(`^[\w+=,.@-]{1,128}$`)

// LegacyProfileName is the name that earlier releases gave to the one profile of a class; false if IAM knows no such names, so
// that there never was one.
func LegacyProfileName(cluster, region, class string) (string, bool) {
	name := cluster + "_" + hash(region+class)
	return name, profileName.MatchString(name)
}

// RoleName is the name of a role without its path, which is how IAM knows it.
func RoleName(role string) string { return role[strings.LastIndexByte(role, '/')+1:] }

// hash is the hash of a text, in decimal. Names that are stored depend on it.
func hash(text string) string {
	sum, err := hashstructure.Hash(text, hashstructure.FormatV2, nil)
	if err != nil {
		// A text can always be hashed.
		panic(fmt.Sprintf("hashing %q: %v", text, err))
	}
	return strconv.FormatUint(sum, 10)
}
