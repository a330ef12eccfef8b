// Package resourcetags has the names and tags that identify the AWS resources of Karpenter and of
// clusters.
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

// LaunchTags are the tags of launched resources: the user's, overridden by those that identify the owner.
func LaunchTags(user map[string]string, cluster, nodePool, class string) map[string]string {
	out := classTags(user, cluster, class)
	out[awsv1.TagNodePool] = nodePool
	return out
}

// ProfileTags are the tags of an instance profile. IAM is global, so that one tag names the region.
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

// LegacyProfileName is the name that earlier releases gave to the one profile of a class; false if the name is invalid in IAM, so
// that no such profile exists.
func LegacyProfileName(cluster, region, class string) (string, bool) {
	name := cluster + "_" + hash(region+class)
	return name, profileName.MatchString(name)
}

// RoleName is the name of a role without its path, as IAM expects it.
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
