Feature: A registry of skill packages
  A client asks a registry over HTTP, believes nothing it did not hash itself, and says in one typed error what went
  wrong. References of every scheme lead to skills; what is known already is not asked for. Every server here is a real
  one, on loopback.

  Background:
    Given a registry with the packages
      | package          | body          |
      | acme/pdf@v1.0.0  | Fill forms.   |
      | acme/pdf@v1.1.0  | Fill them in. |
      | acme/mail@v0.1.0 | Sort mail.    |
      | other/pdf@v2.0.0 | Print it.     |

  # --- the endpoints --------------------------------------------------------------------------------------------------

  @S2-24
  Scenario: A package is had by its id
    When the client asks for the id of "acme/pdf@v1.0.0"
    Then it gets what was published as "acme/pdf@v1.0.0"
    And the registry was asked "GET /packages/<id of acme/pdf@v1.0.0>"

  @S2-25
  Scenario Outline: A package is had by its name, and an alias leads to the highest match: <wanted>
    When the client asks for "<wanted>"
    Then it gets what was published as "<published>"
    And the registry was asked "GET /skill/<query>"

    Examples:
      | wanted            | published       | query                    |
      | acme/pdf@v1.0.0   | acme/pdf@v1.0.0 | acme/pdf?version=v1.0.0  |
      | acme/pdf@latest   | acme/pdf@v1.1.0 | acme/pdf?version=latest  |
      | acme/pdf@v1.0.x   | acme/pdf@v1.0.0 | acme/pdf?version=v1.0.x  |
      | acme/pdf@v1       | acme/pdf@v1.1.0 | acme/pdf?version=v1      |
      | other/pdf@latest  | other/pdf@v2.0.0 | other/pdf?version=latest |

  @S2-26
  Scenario Outline: What there is can be browsed, all pages of it, by type and namespace
    When the client browses the type "<type>" and the namespace "<namespace>"
    Then it finds "<found>"

    Examples:
      | type  | namespace | found                                               |
      |       |           | acme/mail@v0.1.0, acme/pdf@v1.1.0, other/pdf@v2.0.0 |
      | skill |           | acme/mail@v0.1.0, acme/pdf@v1.1.0, other/pdf@v2.0.0 |
      | skill | acme      | acme/mail@v0.1.0, acme/pdf@v1.1.0                   |
      | agent |           |                                                     |
      |       | nobody    |                                                     |

  @S2-27
  Scenario: A registry says what it is
    When the client asks what the registry is
    Then it is one of the format "skillbelt.registry/1" that holds "skill" and wants "none" to be read
    And the registry was asked "GET /.well-known/cleverthis-packages"

  @S2-28
  Scenario Outline: A registry that wants a key is read with one, and not with another
    Given the registry wants the key "readers-key"
    When the client asks for "acme/pdf@latest" with the key "<key>"
    Then <outcome>
    And the keys are nowhere to be seen

    Examples:
      | key         | outcome                                            |
      | readers-key | it gets what was published as "acme/pdf@v1.1.0"    |
      | another-key | it is refused as a AuthenticationRequiredError     |
      |             | it is refused as a AuthenticationRequiredError     |

  @S2-28
  Scenario: A key stays with the registry it is for
    Given another server has the package "acme/pdf@v1.0.0"
    And a registry that redirects to that server
    When the client asks for "acme/pdf@v1.0.0" with the key "readers-key"
    Then it gets what was published as "acme/pdf@v1.0.0"
    And the other server was asked without a key

  # --- each failure its error -----------------------------------------------------------------------------------------

  @S2-29 @S2-30
  Scenario Outline: What the registry answers is one typed error: <status> <code>
    Given a registry that answers <status> with the code "<code>"
    When the client asks for "acme/pdf@v1.x" because of "hub.example.com:acme/pdf@v1.x"
    Then it is refused as a <error>
    And it is exactly that, and a RegistryError
    And the error tells of "hub.example.com:acme/pdf@v1.x", with a message, the status <status> and the address

    Examples:
      | status | code                    | error                        |
      | 404    | PackageNotFound         | PackageNotFoundError         |
      | 404    | VersionNotFound         | VersionNotFoundError         |
      | 404    |                         | PackageNotFoundError         |
      | 400    | InvalidPackageId        | InvalidPackageIdError        |
      | 400    | InvalidPackageReference | InvalidPackageReferenceError |
      | 400    | PackageValidation       | PackageValidationError       |
      | 401    | AuthenticationRequired  | AuthenticationRequiredError  |
      | 403    | AccessDenied            | AccessDeniedError            |
      | 409    | PackageConflict         | PackageConflictError         |
      | 500    |                         | RegistryNetworkError         |
      | 503    |                         | RegistryNetworkError         |

  @S2-29 @S2-30
  Scenario Outline: A registry that does not answer as it should is an error of the network, in time: <how>
    Given a registry that <how>
    When the client asks for "acme/pdf@v1.x" because of "registry:acme/pdf@v1.x", for at most 0.5 seconds
    Then it is refused as a RegistryNetworkError
    And the reason is "<reason>"
    And it took no longer than that

    Examples:
      | how                         | reason      |
      | says nothing                | timeout     |
      | drips                       | timeout     |
      | breaks off                  | unreachable |
      | sends half of it            | unreachable |
      | sends too much              | too-large   |
      | redirects to a file         | refused     |
      | redirects to a private host | refused     |
      | redirects in a circle       | unusable    |
      | sends a page for people     | unusable    |
      | sends garbage               | unusable    |
      | is not there                | unreachable |

  @S2-29
  Scenario: A private host is not asked unless that is allowed
    When a client that may only ask public hosts asks for "acme/pdf@latest"
    Then it is refused as a RegistryNetworkError
    And the reason is "refused"
    And the registry was asked nothing

  @S2-23 @S2-29
  Scenario Outline: A registry that lies is not believed: <lie>
    Given a registry that tells <lie>
    When the client asks for "acme/pdf@v1.x" because of "registry:acme/pdf@v1.x"
    Then it is refused as a <error>
    And the message mentions "<words>"

    Examples:
      | lie                  | error                  | words                             |
      | another id           | IntegrityError         | with another id than it should    |
      | other content        | IntegrityError         | with another id than it should    |
      | another digest       | IntegrityError         | another integrity than it should  |
      | another version      | IntegrityError         | another version than it should    |
      | another namespace    | IntegrityError         | another namespace than it should  |
      | another name         | PackageValidationError | it is called 'mail', and 'pdf'    |

  @S2-22
  Scenario Outline: A package that is no valid skill is refused, and every rule it breaks is named: <rule>
    Given a registry with a package whose <field> is <value>
    When that package is resolved
    Then it is refused as a PackageValidationError
    And its reference is shown, and "/<field>" with the rule "<rule>" is among the violations

    Examples:
      | field         | value            | rule                   |
      | name          | missing          | name-missing           |
      | name          | ""               | name-missing           |
      | name          | 65 letters       | name-too-long          |
      | name          | "PDF"            | name-uppercase         |
      | name          | "pdf tools"      | name-charset           |
      | name          | "pdf--tools"     | name-hyphen            |
      | name          | "-pdf"           | name-hyphen            |
      | name          | 5                | name-type              |
      | description   | missing          | description-missing    |
      | description   | ""               | description-missing    |
      | description   | 1025 letters     | description-too-long   |
      | description   | 5                | description-type       |
      | compatibility | 501 letters      | compatibility-too-long |

  # --- from references to skills --------------------------------------------------------------------------------------

  @S2-06 @S2-07 @S2-08 @S2-38
  Scenario Outline: Every scheme leads to a skill: <reference>
    Given a skill "local-skill" in "skills"
    When a router is made from "<reference>"
    Then its skills are "<skills>"
    And the registry was asked <asked>

    Examples:
      | reference                    | skills      | asked   |
      | <host>:acme/pdf@v1.x         | pdf         | twice   |
      | ID:<id of acme/mail@v0.1.0>  | mail        | twice   |
      | registry:acme/pdf            | pdf         | twice   |
      | local:./skills/local-skill   | local-skill | nothing |

  @S2-38 @S2-39 @S2-42
  Scenario: Several at once are resolved when the router is made, and served from memory
    Given a skill "local-skill" in "skills"
    When a router is made from "registry:acme/pdf, local:./skills/local-skill, ID:<id of acme/mail@v0.1.0>"
    And the registry and the folder "skills" are gone
    Then its skills are "local-skill, mail, pdf"
    And the skill "pdf" says "Fill them in."
    And the skill "local-skill" says "1. Begin."

  @S2-39
  Scenario Outline: A reference that leads nowhere fails then, and is named: <reference>
    When a router is made from "registry:acme/pdf, <reference>, registry:acme/mail"
    Then it is refused as a <error>
    And the message mentions "<named>"
    And the original reference is "<reference>"

    Examples:
      | reference               | error                        | named                 |
      | registry:acme/nothing   | PackageNotFoundError         | acme/nothing          |
      | registry:acme/pdf@v9.x  | VersionNotFoundError         | acme/pdf@v9.x         |
      | registry:acme/pfd       | PackageNotFoundError         | Did you mean 'pdf'?   |
      | local:./nowhere         | PackageNotFoundError         | local:./nowhere       |
      | acme/pdf                | InvalidPackageReferenceError | it has no ':'         |
      | ID:pkg_skl_123          | InvalidPackageIdError        | not 40                |

  @S2-39
  Scenario: All references that fail are told at once
    When a router is made from "registry:acme/nothing, registry:acme/pdf, local:./nowhere"
    Then it is refused as a PackageNotFoundError
    And the failures are of "registry:acme/nothing, local:./nowhere"

  # --- what is known already ------------------------------------------------------------------------------------------

  @S2-31
  Scenario: What is cached is not asked for
    Given "registry:acme/pdf@v1.x, ID:<id of acme/mail@v0.1.0>" were resolved
    When they are resolved again
    Then they lead to "acme/pdf@v1.1.0, acme/mail@v0.1.0"
    And the registry was asked nothing

  @S2-32
  Scenario Outline: An alias is looked up again when its time is over, an id never
    Given "<reference>" were resolved
    And "acme/pdf@v1.2.0" was published, with the body "Newest."
    When they are resolved again <later> seconds later
    Then they lead to "<package>"
    And the registry was asked <questions>

    Examples:
      | reference                  | later | package         | questions |
      | registry:acme/pdf@v1.x     | 299   | acme/pdf@v1.1.0 | nothing   |
      | registry:acme/pdf@v1.x     | 301   | acme/pdf@v1.2.0 | once      |
      | ID:<id of acme/pdf@v1.1.0> | 9999  | acme/pdf@v1.1.0 | nothing   |

  @S2-33
  Scenario: Content that is not what its id says is fetched once more
    Given a registry that tells other content, once
    When "ID:<id of acme/pdf@v1.0.0>" are resolved
    Then they lead to "acme/pdf@v1.0.0"
    And the registry was asked twice

  @S2-33
  Scenario: Content that is not what its id says, twice, is an error and is not kept
    Given a registry that tells other content
    When "ID:<id of acme/pdf@v1.0.0>" are resolved
    Then it is refused as a IntegrityError
    And the registry was asked twice
    And the cache is empty

  @S2-33
  Scenario: Cached content that was changed on disk is discarded and fetched again
    Given "ID:<id of acme/pdf@v1.0.0>" were resolved with a cache on disk
    And what the cache holds is changed on disk
    When they are resolved again
    Then they lead to "acme/pdf@v1.0.0"
    And the registry was asked once

  @S2-37
  Scenario: Several registries at once, one client for each host
    Given a second registry with "acme/pdf@v1.1.0", with the body "Of the second."
    When "<host>:acme/pdf, <second>:acme/pdf, <host>:acme/mail, <second>:acme/pdf@v1" are resolved
    Then the second and the last say "Of the second."
    And each of the registries has one client
