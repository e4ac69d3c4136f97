// Writes a small vulnerability database (schema 2) for trivy with trivy-db's own packages: trivy.db and metadata.json. It
// reads advisories as JSON from stdin; the only argument is the output directory. `updated` sets the date of the database.
package main

import (
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/aquasecurity/trivy-db/pkg/db"
	"github.com/aquasecurity/trivy-db/pkg/metadata"
	"github.com/aquasecurity/trivy-db/pkg/types"
	"github.com/aquasecurity/trivy-db/pkg/vulnsrc/bucket"
	redhat "github.com/aquasecurity/trivy-db/pkg/vulnsrc/redhat-oval"
	"github.com/aquasecurity/trivy-db/pkg/vulnsrc/vulnerability"
	bolt "go.etcd.io/bbolt"
)

type advisory struct {
	ID       string   `json:"id"`
	Family   string   `json:"family"`
	Release  string   `json:"release"`
	Package  string   `json:"package"`
	Fixed    string   `json:"fixed"`
	Status   string   `json:"status"`
	Severity string   `json:"severity"`
	CVEs     []string `json:"cves"`
	Arches   []string `json:"arches"`
	Score    float64  `json:"score"`
	Vector   string   `json:"vector"`
	URLs     []string `json:"urls"`
	Title    string   `json:"title"`
	Text     string   `json:"text"`
}

type input struct {
	Updated    *time.Time `json:"updated"`
	Advisories []advisory `json:"advisories"`
}

type system struct {
	bucket func(release string) bucket.Bucket
	source types.SourceID
}

var systems = map[string]system{
	"ubuntu":              {bucket.NewUbuntu, vulnerability.Ubuntu},
	"debian":              {bucket.NewDebian, vulnerability.Debian},
	"alma":                {bucket.NewAlma, vulnerability.Alma},
	"rocky":               {bucket.NewRocky, vulnerability.Rocky},
	"redhat":              {func(string) bucket.Bucket { return bucket.NewRedHat("") }, vulnerability.RedHatOVAL},
	"oracle":              {bucket.NewOracle, vulnerability.OracleOVAL},
	"alpine":              {bucket.NewAlpine, vulnerability.Alpine},
	"opensuse-leap":       {bucket.NewOpenSUSE, vulnerability.SuseCVRF},
	"opensuse-tumbleweed": {func(string) bucket.Bucket { return bucket.NewOpenSUSETumbleweed() }, vulnerability.SuseCVRF},
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func severityOf(a advisory) types.Severity {
	if a.Severity == "" {
		return types.SeverityUnknown
	}
	severity, err := types.NewSeverity(a.Severity)
	must(err)
	return severity
}

// The rows below a package differ: those of Red Hat name products, those of Rocky and Oracle name architectures.
func row(tx *bolt.Tx, dbc db.Config, a advisory) any {
	severity := severityOf(a)
	switch a.Family {
	case "redhat":
		var cves []redhat.CveEntry
		for _, cve := range a.CVEs {
			cves = append(cves, redhat.CveEntry{ID: cve, Severity: severity})
		}
		if len(cves) == 0 {
			cves = append(cves, redhat.CveEntry{Severity: severity})
		}
		must(dbc.PutRedHatRepositories(tx, "rhel-"+a.Release+"-for-x86_64-baseos-rpms", []int{1}))
		must(dbc.PutRedHatCPEs(tx, 1, "cpe:/o:redhat:enterprise_linux:"+a.Release+"::baseos"))
		entry := redhat.Entry{FixedVersion: a.Fixed, Cves: cves, Arches: a.Arches, Status: types.NewStatus(a.Status), AffectedCPEIndices: []int{1}}
		// The library writes the status only for entries that are pointers.
		return map[string]any{"Entries": []*redhat.Entry{&entry}}
	case "rocky", "oracle":
		return types.Advisories{FixedVersion: a.Fixed, Entries: []types.Advisory{{FixedVersion: a.Fixed, Arches: a.Arches}}}
	default:
		return &types.Advisory{FixedVersion: a.Fixed, Status: types.NewStatus(a.Status)}
	}
}

// A vulnerability has one row of details, to which every distribution adds its rating.
func told(before types.Vulnerability, a advisory, source types.SourceID) types.Vulnerability {
	after := types.Vulnerability{Title: a.Title, Description: a.Text, References: a.URLs, VendorSeverity: before.VendorSeverity, CVSS: before.CVSS}
	if severity := severityOf(a); severity != types.SeverityUnknown {
		after.Severity = severity.String()
		if after.VendorSeverity == nil {
			after.VendorSeverity = types.VendorSeverity{}
		}
		after.VendorSeverity[source] = severity
	}
	if a.Vector != "" {
		after.CVSS = types.VendorCVSS{vulnerability.NVD: {V3Vector: a.Vector, V3Score: a.Score}}
	}
	return after
}

func main() {
	var in input
	must(json.NewDecoder(os.Stdin).Decode(&in))
	directory := os.Args[1]
	must(db.Init(directory))
	dbc := db.Config{}
	known := map[string]types.Vulnerability{}
	must(dbc.BatchUpdate(func(tx *bolt.Tx) error {
		for _, a := range in.Advisories {
			about, ok := systems[a.Family]
			if !ok {
				log.Fatalf("trivy knows no %s", a.Family)
			}
			name := about.bucket(a.Release).Name()
			must(dbc.PutDataSource(tx, name, types.DataSource{ID: about.source, Name: name, URL: "https://example.org"}))
			must(dbc.PutAdvisory(tx, []string{name, a.Package}, a.ID, row(tx, dbc, a)))
			source := about.source
			if source == vulnerability.RedHatOVAL {
				source = vulnerability.RedHat
			}
			for _, id := range append([]string{a.ID}, a.CVEs...) {
				known[id] = told(known[id], a, source)
			}
		}
		for id, vulnerability := range known {
			must(dbc.PutVulnerability(tx, id, vulnerability))
		}
		return nil
	}))
	must(db.Close())
	updated := time.Now().UTC().Truncate(time.Second)
	if in.Updated != nil {
		updated = in.Updated.UTC()
	}
	must(metadata.NewClient(directory).Update(metadata.Metadata{Version: db.SchemaVersion, UpdatedAt: updated, NextUpdate: updated.Add(24 * time.Hour)}))
}
