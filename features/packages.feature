Feature: Skills as packages
  A skill becomes one document with an id over its content, and comes back byte for byte. References name packages.
  A document that breaks the schema is refused, with every violation named.

  # --- ids ------------------------------------------------------------------------------------------------------------

  @S2-01
  Scenario: An id is a type and a hash
    When the id "pkg_skl_0123456789abcdef0123456789abcdef01234567" is read
    Then it is the id of a skill with the hash "0123456789abcdef0123456789abcdef01234567"
    And it is written as it was read

  @S2-02
  Scenario Outline: What is no id is refused and named: <what>
    When the id "<id>" is read
    Then it is refused as a InvalidPackageIdError
    And it is also a RegistryError
    And the message mentions "<id>"
    And the message mentions "<why>"

    Examples:
      | what                       | id                                                | why                |
      | the sample with 38 digits  | pkg_skl_a1b2c3d4e5f67890a1b2c3d4e5f67890abcdef    | 38 characters      |
      | 41 digits                  | pkg_skl_0123456789abcdef0123456789abcdef012345678 | 41 characters      |
      | another prefix             | pkg_xyz_0123456789abcdef0123456789abcdef01234567  | known prefix       |
      | no prefix                  | 0123456789abcdef0123456789abcdef01234567          | known prefix       |
      | upper case                 | pkg_skl_0123456789ABCDEF0123456789ABCDEF01234567  | upper-case letters |
      | letters that are no digits | pkg_skl_0123456789abcdef0123456789abcdef0123456z  | other than 0-9     |

  @S2-03
  Scenario: The id of an actor is no id of a skill
    When the id "pkg_act_0123456789abcdef0123456789abcdef01234567" is read as one of a skill
    Then it is refused as a InvalidPackageIdError
    And the message mentions "type 'actor'"

  # --- references -----------------------------------------------------------------------------------------------------

  @S2-04 @S2-05 @S2-06 @S2-07 @S2-08 @S2-09
  Scenario Outline: A reference has one of four shapes: <reference>
    When the reference "<reference>" is read
    Then its scheme is "<scheme>" and its parts are "<parts>"
    And it is written as it was typed

    Examples:
      | reference                                            | scheme   | parts                                            |
      | hub.example.com:acme/pdf@v1.2.3                      | host     | hub.example.com acme pdf v1.2.3                  |
      | 127.0.0.1:8731:acme/pdf@v1.x                         | host     | 127.0.0.1:8731 acme pdf v1.x                     |
      | hub.example.com:acme/pdf                             | host     | hub.example.com acme pdf latest                  |
      | registry:acme/pdf@v1                                 | registry | acme pdf v1                                      |
      | registry:acme/pdf                                    | registry | acme pdf latest                                  |
      | local:./skills/pdf                                   | local    | ./skills/pdf                                     |
      | ID:pkg_skl_0123456789abcdef0123456789abcdef01234567  | id       | pkg_skl_0123456789abcdef0123456789abcdef01234567 |

  @S2-09 @S2-10
  Scenario Outline: Any other shape is refused, shown, and the right ones are told: <reference>
    When the reference "<reference>" is read
    Then it is refused as a InvalidPackageReferenceError
    And the message mentions "<reference>"
    And the message mentions "<why>"
    And the message mentions "registry:namespace/name@version"
    And the error keeps the reference "<reference>"

    Examples:
      | reference                                              | why                  |
      | pdf                                                    | no ':'               |
      | acme/pdf@v1                                            | no ':'               |
      | https://hub.example.com/acme/pdf                       | is a URL             |
      | hub_example:acme/pdf                                   | is no host           |
      | registry:pdf                                           | no 'namespace/name'  |
      | registry:ac.me/pdf                                     | the namespace        |
      | registry:acme/PDF                                      | no name of a skill   |
      | registry:acme/pdf@newest                               | no version           |
      | registry:acme/pdf@v1.2                                 | no version           |
      | local:                                                 | names no folder      |
      | Local:./pdf                                            | is written 'local'   |

  @S2-11
  Scenario Outline: A version means the highest that matches: <wanted>
    Given the versions "v1.2.3, v1.10.0, v1.9.9, v2.0.0, v2.1.0-rc.1, v1.2.10"
    When the version "<wanted>" is selected
    Then "<found>" is selected

    Examples:
      | wanted      | found       |
      | latest      | v2.0.0      |
      | v1          | v1.10.0     |
      | v1.x        | v1.10.0     |
      | v1.2.x      | v1.2.10     |
      | v2.x        | v2.0.0      |
      | v1.2.3      | v1.2.3      |
      | v2.1.0-rc.1 | v2.1.0-rc.1 |
      | v2.1.x      | nothing     |
      | v3          | nothing     |
      | v1.2.4      | nothing     |

  # --- the canonical form -----------------------------------------------------------------------------------------------

  @S2-12 @S2-13 @S2-14
  Scenario Outline: Documents that say the same have the same canonical bytes: <what>
    When the document <one> is brought into its canonical form
    Then its bytes are <bytes>
    When the document <other> is brought into its canonical form
    Then its bytes are <bytes>

    Examples:
      | what                | one                             | other                       | bytes                   |
      | the order of keys   | {"b": 1, "a": {"d": 2, "c": 3}} | {"a":{"c":3,"d":2},"b":1}   | {"a":{"c":3,"d":2},"b":1} |
      | the form of letters | {"a": "caf\u00e9"}              | {"a": "cafe\u0301"}         | {"a":"café"}            |
      | the form of keys    | {"caf\u00e9": 1}                | {"cafe\u0301": 1}           | {"café":1}              |
      | UTF-16 order        | {"\uff21": 1, "\ud83d\ude00": 2} | {"\ud83d\ude00": 2, "\uff21": 1} | {"😀":2,"Ａ":1}    |
      | version and date    | {"version": "v1.0.0", "a": 1}   | {"release_date": "x", "a": 1} | {"a":1}               |

  @S2-15
  Scenario: A version below the top is content
    When the document {"metadata": {"version": "3"}, "version": "v1.0.0"} is brought into its canonical form
    Then its bytes are {"metadata":{"version":"3"}}

  @S2-16
  Scenario: The id changes with the content and with nothing else
    Given a skill "mail" in "skills"
    When "skills/mail" is packed
    And "skills/mail" is packed as version "v1.2.3" of "2026-01-31"
    Then both packages have the same id and the same integrity
    And the id is "pkg_skl_" and the SHA-1 of the canonical bytes
    When the file "skills/mail/notes.md" is given the text "new"
    And "skills/mail" is packed
    Then the last two packages have different ids

  @S2-17
  Scenario: A reference in the text of a skill stays text
    Given a skill "mail" in "skills" that says "Sorts mail with registry:acme/rules@latest."
    When "skills/mail" is packed
    Then the document says "Sorts mail with registry:acme/rules@latest."

  # --- there and back ---------------------------------------------------------------------------------------------------

  @S2-18 @S2-19 @S2-20
  Scenario: Every file comes back byte for byte, with its executable bit
    Given a skill "mail" in "skills"
    And the file "skills/mail/scripts/run.sh" of the text "#!/bin/sh\r\necho hi"
    And the file "skills/mail/scripts/run.sh" is executable
    And the file "skills/mail/assets/latin.bin" of the text "caf\xe9\x00\xff"
    And the file "skills/mail/references/decomposed.md" of the text "cafe\xcc\x81"
    And the file "skills/mail/assets/empty" of the text ""
    And the file "skills/mail/.hidden/100%.txt" of the text "%41"
    And the file "skills/mail/caf\xc3\xa9/\xf0\x9f\x98\x80.md" of the text "x"
    And a file of "skills/mail" whose name is the bytes "na\xefve-e\xcc\x81"
    When "skills/mail" is packed
    And it is unpacked to "copy"
    Then "copy" holds the same files as "skills/mail"
    And "copy" packed again has the same id
    And the document holds "scripts/run.sh" as text that is executable
    And the document holds "assets/latin.bin" as base64
    And the document holds "references/decomposed.md" as base64
    And the document holds "assets/empty" as text
    And the document holds ".hidden/100%25.txt" as text
    And the document holds "café/😀.md" as text
    And the document holds "na%EFve-e%CC%81" as text

  @S2-18 @S2-42
  Scenario: An unpacked skill is read from memory
    Given a skill "mail" in "skills"
    And the file "skills/mail/scripts/run.py" of the text "print(1)\n"
    And the file "skills/mail/scripts/run.py" is executable
    When "skills/mail" is packed
    And it is unpacked in memory while every open is watched
    Then the skill "mail" has its instructions and the file "scripts/run.py", which is executable
    And nothing was opened

  @S2-20
  Scenario Outline: What cannot be in a package is refused: <what>
    Given a skill "mail" in "skills"
    And the file "secret.txt" of the text "x"
    And a skill "other" in "skills"
    And "skills/mail/odd" is <what>
    When "skills/mail" is packed
    Then it is refused as a PackageValidationError
    And the violation "<code>" is named at "/files/odd"

    Examples:
      | what                                | code           |
      | a link to "../../secret.txt"        | symlink-escape |
      | a link to "/etc/passwd"             | symlink-escape |
      | a link to "../other"                | symlink-escape |
      | a link to "nothing"                 | symlink-broken |
      | a link to "."                       | symlink-loop   |
      | a FIFO                              | special-file   |

  @S2-20
  Scenario: A link that stays inside the skill is packed as what it leads to
    Given a skill "mail" in "skills"
    And the file "skills/mail/references/rules.md" of the text "Rules."
    And "skills/mail/odd" is a link to "references/rules.md"
    When "skills/mail" is packed
    Then the document holds "odd" as text
    And the package says that "odd" was a link

  @S2-20
  Scenario Outline: A skill over a limit is refused: <limit>
    Given a skill "mail" in "skills"
    And the file "skills/mail/a" of 2000 bytes
    And the file "skills/mail/b" of 2000 bytes
    When "skills/mail" is packed with at most <count> <limit>
    Then it is refused as a PackageValidationError
    And the violation "<code>" is named at "<where>"

    Examples:
      | limit          | count | code           | where           |
      | files          | 2     | too-many-files | /files          |
      | total_bytes    | 3000  | too-large      | /files          |
      | skill_bytes    | 20    | file-too-large | /files/SKILL.md |
      | document_bytes | 3000  | too-large      |                 |

  # --- the schema ---------------------------------------------------------------------------------------------------------

  @S2-21 @S2-48
  Scenario Outline: A package keeps the rules of the specification: <what>
    Given a package of the name "<name>" that says "<description>" and has "<more>"
    When the package is read
    Then the verdict on the package is "<verdict>"

    Examples: names
      | what                  | name        | description | more | verdict                    |
      | a plain name          | tea-time    | Makes tea.  |      | valid                      |
      | digits                | 2-teas      | Makes tea.  |      | valid                      |
      | Chinese               | 泡茶        | Makes tea.  |      | valid                      |
      | Russian               | мой-чай     | Makes tea.  |      | valid                      |
      | upper case            | TeaTime     | Makes tea.  |      | name-uppercase             |
      | Russian upper case    | ЧАЙ         | Makes tea.  |      | name-uppercase             |
      | a hyphen in front     | -tea        | Makes tea.  |      | name-hyphen                |
      | a hyphen at the end   | tea-        | Makes tea.  |      | name-hyphen                |
      | two hyphens           | tea--time   | Makes tea.  |      | name-hyphen                |
      | an underscore         | tea_time    | Makes tea.  |      | name-charset               |
      | a blank               | tea time    | Makes tea.  |      | name-charset               |
      | a slash               | acme/tea    | Makes tea.  |      | name-charset, name-unsafe  |
      | two dots              | ..          | Makes tea.  |      | name-charset, name-unsafe  |
      | an empty name         |             | Makes tea.  |      | name-missing               |
      | several at once       | -Tea_Time   | Makes tea.  |      | name-charset, name-hyphen, name-uppercase |

    Examples: descriptions and other fields
      | what                  | name | description | more                                 | verdict                |
      | an empty description  | tea  |             |                                      | description-missing    |
      | blanks                | tea  | "  "        |                                      | description-missing    |
      | a list                | tea  | [a, b]      |                                      | description-type       |
      | every optional field  | tea  | Makes tea.  | license: MIT\nmetadata:\n  by: me\nallowed-tools: Read Bash(git *)\ncompatibility: A kettle\n | valid |
      | an unknown field      | tea  | Makes tea.  | sort_of: green\n                     | unknown-field          |
      | nested metadata       | tea  | Makes tea.  | metadata:\n  a: [b]\n                | metadata-value-type    |
      | metadata as text      | tea  | Makes tea.  | metadata: x\n                        | metadata-type          |
      | tools as a list       | tea  | Makes tea.  | allowed-tools: [Read]\n              | allowed-tools-type     |
      | tools with commas     | tea  | Makes tea.  | allowed-tools: Read, Write\n         | allowed-tools-comma    |
      | a list of places      | tea  | Makes tea.  | compatibility: [a]\n                 | compatibility-type     |
      | a licence in parts    | tea  | Makes tea.  | license: {a: b}\n                    | license-type           |

  @S2-21 @S2-48
  Scenario Outline: A package keeps the lengths of the specification: <field> of <count> characters
    Given a package whose <field> is <count> times "x"
    When the package is read
    Then the verdict on the package is "<verdict>"

    Examples:
      | field         | count | verdict                |
      | name          | 64    | valid                  |
      | name          | 65    | name-too-long          |
      | description   | 1024  | valid                  |
      | description   | 1025  | description-too-long   |
      | compatibility | 500   | valid                  |
      | compatibility | 501   | compatibility-too-long |

  @S2-22
  Scenario: Every violation is named at once, with the reference
    Given a package of the name "Tea_" that says "Makes tea." and has "steps: x\n"
    And in the document "format" is "other/9"
    And in the document "extra" is 1
    And in the document the file "../evil" is {"text": "x"}
    And in the document the file "b" is {"base64": "!"}
    And in the document the file "skill.md" is {"text": ""}
    When the package is read for the reference "hub.example.com:acme/tea@v1"
    Then it is refused as a PackageValidationError
    And the error keeps the reference "hub.example.com:acme/tea@v1"
    And exactly these violations are named
      | path             | code           |
      | /format          | format         |
      | /extra           | unknown-field  |
      | /name            | name-uppercase |
      | /name            | name-charset   |
      | /files/..~1evil  | path-unsafe    |
      | /files/b/base64  | base64         |
      | /files/skill.md  | path-clash     |
      | /files/SKILL.md  | unknown-field  |

  @S2-22
  Scenario Outline: A hostile document is refused: <what>
    Given a package of the name "tea" that says "Makes tea." and has ""
    And in the document <place> is <value>
    When the package is read
    Then it is refused as a PackageValidationError
    And the violation "<code>" is named at "<where>"

    Examples:
      | what                      | place                    | value                        | code                 | where               |
      | an absolute path          | the file "/etc/passwd"   | {"text": ""}                 | path-unsafe          | /files/~1etc~1passwd |
      | a path with two dots      | the file "a/../../b"     | {"text": ""}                 | path-unsafe          | /files/a~1..~1..~1b |
      | a backslash               | the file "..\\b"         | {"text": ""}                 | path-unsafe          | /files/..\\b        |
      | another spelling of a path | the file "%2E%2E/b"     | {"text": ""}                 | path-spelling        | /files/%2E%2E~1b    |
      | a file that is a folder   | the file "SKILL.md/a"    | {"text": ""}                 | path-file-and-folder | /files/SKILL.md~1a  |
      | another form of letters   | the file "a"             | {"text": "e\u0301"}          | not-nfc              | /files/a/text       |
      | half a character          | the file "a"             | {"text": "\ud800"}           | not-unicode          | /files/a/text       |
      | another spelling of bytes | the file "a"             | {"base64": "/x=="}           | base64               | /files/a/base64     |
      | text as base64            | the file "a"             | {"base64": "YQ=="}           | encoding             | /files/a/base64     |
      | a wrong type              | "files"                  | []                           | type                 | /files              |
      | a field that lies         | "name"                   | "coffee"                     | projection-mismatch  | /name               |
      | instructions that lie     | "instructions"           | "Obey."                      | projection-mismatch  | /instructions       |
      | the document of an actor  | "type"                   | "actor"                      | type                 | /type               |
      | a version to move to      | "version"                | "latest"                     | version              | /version            |

  @S2-23
  Scenario: The name of a package is that of its reference
    Given a package of the name "tea" that says "Makes tea." and has ""
    When the package is read as the one of "registry:acme/tea@v1"
    Then it succeeds
    When the package is read as the one of "registry:acme/coffee@v1"
    Then it is refused as a PackageValidationError
    And the message mentions "registry:acme/coffee@v1"
    And the violation "name-mismatch" is named at "/name"

  @S2-49
  Scenario Outline: Long instructions are a warning and no error: <lines> lines
    Given a skill "mail" in "skills" whose body has <lines> lines
    When "skills/mail" is validated
    Then the verdict is "<verdict>"
    When "skills/mail" is packed under STRICT
    Then the package comes with the warnings "<warnings>"

    Examples:
      | lines | verdict | warnings  |
      | 500   | valid   |           |
      | 501   | valid   | body-long |
