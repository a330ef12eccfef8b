package family_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/family"
)

// TestDisks pins the disks that instances get by default.
func TestDisks(t *testing.T) {
	t.Attr("covers", "N321")
	for of, want := range map[awsv1.Family]string{
		awsv1.FamilyAL2: "/dev/xvda 20Gi;", awsv1.FamilyAL2023: "/dev/xvda 20Gi;", awsv1.FamilyBottlerocket: "/dev/xvda 6Gi;/dev/xvdb 20Gi;",
		awsv1.FamilyWindows2019: "/dev/sda1 50Gi;", awsv1.FamilyWindows2022: "/dev/sda1 50Gi;", awsv1.FamilyWindows2025: "/dev/sda1 50Gi;", awsv1.FamilyCustom: "",
	} {
		got, ephemeral := "", want == ""
		for _, d := range family.BlockDevices(of) {
			got += *d.DeviceName + " " + d.EBS.VolumeSize.String() + ";"
			ephemeral = ephemeral || *d.DeviceName == family.TraitsOf(of).EphemeralDevice
			if !*d.EBS.Encrypted || *d.EBS.VolumeType != "gp3" || d.EBS.IOPS != nil || d.EBS.DeleteOnTermination != nil {
				t.Errorf("%s: %+v", of, d.EBS)
			}
		}
		if got != want || !ephemeral {
			t.Errorf("%s: disks %q, want %q, with the files of pods on one of them", of, got, want)
		}
	}
}

// TestDefaultDisksAreNotHashed: another default, such as the larger root volume of Bottlerocket, drifts no node, whereas disks of the node class are
// hashed.
func TestDefaultDisksAreNotHashed(t *testing.T) {
	t.Attr("covers", "N545")
	for _, of := range []awsv1.Family{awsv1.FamilyAL2023, awsv1.FamilyBottlerocket, awsv1.FamilyWindows2022} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{Role: "role", AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: string(of) + "@latest"}}}}
		defaulted := class.Hash("")
		class.Spec.BlockDeviceMappings = family.BlockDevices(of)
		explicit := class.Hash("")
		class.Spec.BlockDeviceMappings[0].EBS.VolumeSize = new(resource.MustParse("4Gi"))
		if defaulted == explicit || explicit == class.Hash("") {
			t.Errorf("%s: hashes %s without disks, %s with the default ones, %s with smaller ones: all of them differ unless defaults are hashed", of, defaulted, explicit, class.Hash(""))
		}
	}
}
