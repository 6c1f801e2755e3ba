Feature: What a SKILL.md may say
  A skill is a folder with a SKILL.md: a block of YAML between two fences, then instructions.
  STRICT is the specification, LENIENT is how skills are loaded, NAMESPACED is for folders of "namespace/name" skills.

  # --- the whole file -------------------------------------------------------------------------------------------------

  @S1-01
  Scenario Outline: The smallest skill has a name, a description and a body (<profile>)
    Given a SKILL.md
      """
      ---
      name: <name>
      description: Sorts mail by sender. Use when an inbox needs tidying.
      ---
      # Steps

      1. Begin.
      """
    When it is parsed under <profile>
    Then the skill is called "<name>"
    And its description is "Sorts mail by sender. Use when an inbox needs tidying."
    And its instructions are
      """
      # Steps

      1. Begin.
      """
    And nothing is said about it

    Examples:
      | profile    | name              |
      | STRICT     | mail-sorter       |
      | LENIENT    | mail-sorter       |
      | NAMESPACED | local/mail-sorter |

  @S1-02
  Scenario Outline: Every optional field can be read afterwards (<profile>)
    Given a SKILL.md
      """
      ---
      name: <name>
      description: Deploys.
      version: "1.2.3"
      compatibility:
        python: ">=3.11"
        os: [linux, macos]
      metadata:
        author: ops-team
        tags: [deploy, ci]
      allowed-tools:
        - Read
        - Bash(git:*)
      ---
      Begin.
      """
    When it is parsed under <profile>
    Then its fields are
      | field                      | value                                   |
      | extra.version              | "1.2.3"                                 |
      | extra.compatibility.python | ">=3.11"                                |
      | extra.compatibility.os     | ["linux", "macos"]                      |
      | compatibility              | "python: >=3.11; os: linux macos"       |
      | metadata.author            | "ops-team"                              |
      | extra.metadata.tags        | ["deploy", "ci"]                        |
      | metadata.tags              | "[\"deploy\",\"ci\"]"                   |
    And its allowed tools are
      | tool        |
      | Read        |
      | Bash(git:*) |

    Examples:
      | profile    | name         |
      | LENIENT    | deploy       |
      | NAMESPACED | local/deploy |

  @S1-03 @S3-15
  Scenario Outline: The body is preserved to the last character (<profile>)
    Given a SKILL.md of the bytes "---\nname: <name>\ndescription: D.\n---\n\n# Überschrift\r\n\r\n```sh\n---\n  echo 'a'\t\n```\n\n\n  – end  \n\n"
    When it is parsed under <profile>
    Then its instructions are exactly "\n# Überschrift\r\n\r\n```sh\n---\n  echo 'a'\t\n```\n\n\n  – end  \n\n"
    And its instructions survive a round trip through JSON

    Examples:
      | profile    | name |
      | STRICT     | a    |
      | LENIENT    | a    |
      | NAMESPACED | l/a  |

  @S3-15
  Scenario: A NUL in the body is kept by LENIENT, and said
    Given a SKILL.md of the bytes "---\nname: a\ndescription: D.\n---\nOne\x00two 🙂\n"
    When it is parsed under LENIENT
    Then its instructions are exactly "One\x00two 🙂\n"
    And its instructions survive a round trip through JSON
    And a warning "control-chars" says "U+0000"

  Scenario: A NUL in the body is an error for STRICT
    Given a SKILL.md of the bytes "---\nname: a\ndescription: D.\n---\nOne\x00two\n"
    When it is parsed under STRICT
    Then it is refused for "control-chars"

  @S1-28
  Scenario Outline: The lines of the body keep their order (<profile>)
    Given a SKILL.md
      """
      ---
      name: <name>
      description: D.
      ---
      Step A: look.
      Step B: think.
      Step C: act.
      """
    When it is parsed under <profile>
    Then "Step A" comes before "Step B", and that before "Step C"

    Examples:
      | profile    | name |
      | STRICT     | a    |
      | LENIENT    | a    |
      | NAMESPACED | l/a  |

  # --- fences ---------------------------------------------------------------------------------------------------------

  @S1-07 @S1-08 @S1-31 @S1-32
  Scenario Outline: Without a complete frontmatter there is no skill: <what> (<profile>)
    Given a SKILL.md of the bytes "<bytes>"
    When it is parsed under <profile>
    Then it is refused, and the reason mentions "frontmatter"
    And it is refused for "<code>"

    Examples:
      | profile    | what             | bytes                                | code                 |
      | STRICT     | no opening fence | # Just Markdown\n                    | frontmatter-missing  |
      | LENIENT    | no opening fence | # Just Markdown\n                    | frontmatter-missing  |
      | NAMESPACED | no opening fence | # Just Markdown\n                    | frontmatter-missing  |
      | STRICT     | never closed     | ---\nname: a\ndescription: D.\nBody\n | frontmatter-unclosed |
      | LENIENT    | never closed     | ---\nname: a\ndescription: D.\nBody\n | frontmatter-unclosed |
      | NAMESPACED | never closed     | ---\nname: a\ndescription: D.\nBody\n | frontmatter-unclosed |
      | STRICT     | an empty block   | ---\n---\nBody\n                     | frontmatter-empty    |
      | LENIENT    | an empty block   | ---\n---\nBody\n                     | frontmatter-empty    |
      | NAMESPACED | an empty block   | ---\n---\nBody\n                     | frontmatter-empty    |

    Examples: an empty file
      | profile    | what        | bytes | code                |
      | STRICT     | no byte     |       | frontmatter-missing |
      | LENIENT    | no byte     |       | frontmatter-missing |
      | NAMESPACED | no byte     |       | frontmatter-missing |

  @S3-13
  Scenario Outline: A fence is the line "---" and no other: <bytes> (<profile>)
    Given a SKILL.md of the bytes "<bytes>"
    When it is parsed under <profile>
    Then it is refused for "<code>"

    Examples:
      | profile | bytes                                             | code                 |
      | STRICT  | \x20---\nname: a\ndescription: D.\n---\nBody\n       | frontmatter-missing  |
      | LENIENT | \x20---\nname: a\ndescription: D.\n---\nBody\n       | frontmatter-missing  |
      | STRICT  | ---\nname: a\ndescription: D.\n ---\nBody\n       | frontmatter-unclosed |
      | LENIENT | ---\nname: a\ndescription: D.\n ---\nBody\n       | frontmatter-unclosed |
      | STRICT  | ----\nname: a\ndescription: D.\n---\nBody\n       | frontmatter-missing  |
      | LENIENT | ---\nname: a\ndescription: D.\n----\nBody\n       | frontmatter-unclosed |
      | STRICT  | ---\nname: a\ndescription: D.\n---x\nBody\n       | frontmatter-unclosed |

  Scenario: Dashes inside a value do not close the frontmatter
    Given a SKILL.md of the bytes "---\nname: a\ndescription: Sorts --- and files\nlicense: |\n  x\n  ---\n---\nBody\n"
    When it is parsed under STRICT
    Then its description is "Sorts --- and files"
    And its instructions are exactly "Body\n"

  @S3-14
  Scenario Outline: A byte order mark is ignored and CRLF ends a line like any other (<profile>)
    Given a SKILL.md of the bytes "\xef\xbb\xbf---\r\nname: a\r\ndescription: D.\r\n---\r\nOne\r\nTwo\r\n"
    When it is parsed under <profile>
    Then the skill is called "a"
    And its description is "D."
    And its instructions are exactly "One\r\nTwo\r\n"
    And the warnings are "encoding-bom"
    And the errors are ""

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-16
  Scenario Outline: Bytes that are not UTF-8 in <where>: an error for STRICT, a warning for LENIENT
    Given a SKILL.md of the bytes "<bytes>"
    When it is parsed under STRICT
    Then it is refused, and the reason mentions "UTF-8"
    And it is refused for "<codes>"
    When it is parsed under LENIENT
    Then the skill is called "a"
    And a warning "encoding-invalid" says "U+FFFD"

    Examples:
      | where           | bytes                                                            | codes                          |
      | the body        | ---\nname: a\ndescription: D.\n---\nOne \xff two\n               | encoding-invalid               |
      | the description | ---\nname: a\ndescription: D\xff.\n---\nBody\n                   | encoding-invalid               |
      | the licence     | ---\nname: a\ndescription: D.\nlicense: M\xc3T\n---\nBody\n      | encoding-invalid               |
      | a metadata key  | ---\nname: a\ndescription: D.\nmetadata:\n  k\xff: v\n---\nB\n   | encoding-invalid               |
      | a metadata value| ---\nname: a\ndescription: D.\nmetadata:\n  k: v\xff\n---\nB\n   | encoding-invalid               |
      | an unknown key  | ---\nname: a\ndescription: D.\nx\xff: v\n---\nB\n                | encoding-invalid, unknown-field |

  # --- YAML -----------------------------------------------------------------------------------------------------------

  @S1-33
  Scenario Outline: Malformed YAML is named as such, with its line and column (<profile>)
    Given a SKILL.md
      """
      ---
      name: <name>
      description: D.
      tools: [a, b
      ---
      Body.
      """
    When it is parsed under <profile>
    Then it is refused, and the reason mentions "YAML"
    And it is refused, and the reason mentions "column"
    And it is refused for "yaml-invalid"
    And it points at line 5 and the field "", names "not valid YAML", and its hint says "Quote"

    Examples:
      | profile    | name |
      | STRICT     | a    |
      | NAMESPACED | l/a  |

  @S1-33
  Scenario: LENIENT refuses YAML that neither repair nor salvage can save
    Given a SKILL.md
      """
      ---
      name: [half
      description: [open
      ---
      Body.
      """
    When it is parsed under LENIENT
    Then it is refused, and the reason mentions "YAML"
    And it is refused, and the reason mentions "column"
    And it is refused for "yaml-invalid"

  @S1-34
  Scenario Outline: A list is no frontmatter (<profile>)
    Given a SKILL.md
      """
      ---
      - name: a
      - description: D.
      ---
      Body.
      """
    When it is parsed under <profile>
    Then it is refused, and the reason mentions "mapping"
    And it is refused for "frontmatter-not-mapping"

    Examples:
      | profile    |
      | STRICT     |
      | LENIENT    |
      | NAMESPACED |

  # --- names ----------------------------------------------------------------------------------------------------------

  @S1-04
  Scenario Outline: A missing name is an error that says so (<profile>)
    Given a SKILL.md
      """
      ---
      description: Sorts mail.
      ---
      Body.
      """
    When it is parsed under <profile> in the folder "mail"
    Then it is refused, and the reason mentions "name"
    And it is refused for "name-missing"

    Examples:
      | profile    |
      | STRICT     |
      | NAMESPACED |

  @S1-04
  Scenario: LENIENT takes a missing name from the folder, and says so
    Given a SKILL.md
      """
      ---
      description: Sorts mail.
      ---
      Body.
      """
    When it is parsed under LENIENT in the folder "mail"
    Then the skill is called "mail"
    And a warning "name-missing" says "name is missing"

  @S1-04
  Scenario: LENIENT has an error to show when there is neither a name nor a folder
    Given a SKILL.md
      """
      ---
      description: Sorts mail.
      ---
      Body.
      """
    When it is parsed under LENIENT
    Then it is refused, and the reason mentions "name"

  @S3-06
  Scenario Outline: Under STRICT a name is 1 to 64 lower-case letters and digits joined by single hyphens: "<name>"
    Given a SKILL.md of the name "<name>"
    When it is parsed under STRICT
    Then the skill is called "<name>"
    And nothing is said about it

    Examples:
      | name                                                             |
      | a                                                                |
      | pdf-forms                                                        |
      | v2-of-3-parts                                                    |
      | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa |

  @S3-06
  Scenario Outline: Any other name is refused by STRICT and reported by LENIENT: <name>
    Given a SKILL.md of the name <name>, written as in YAML
    When it is parsed under STRICT in the folder "<folder>"
    Then it is refused for "<codes>"
    When it is parsed under LENIENT in the folder "<folder>"
    Then the skill is called "<called>"
    And the warnings are "<codes>"

    Examples:
      | name                                                              | folder | codes                                    | called                                                            |
      | ""                                                                | mail   | name-missing                             | mail                                                              |
      | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | name-too-long | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa |
      | UPPER                                                             | UPPER  | name-uppercase                           | UPPER                                                             |
      | a--b                                                              | a--b   | name-hyphen                              | a--b                                                              |
      | -a                                                                | -a     | name-hyphen                              | -a                                                                |
      | a-                                                                | a-     | name-hyphen                              | a-                                                                |
      | mail_sorter                                                       | mail_sorter | name-charset                        | mail_sorter                                                       |
      | nested/skill                                                      | skill  | name-charset, name-dir-mismatch, name-unsafe | nested/skill                                                  |

  @S3-06
  Scenario: Blanks around a name are no part of it, as in the reference library (ADR 0008)
    Given a SKILL.md of the name " padded", written as in YAML
    When it is parsed under STRICT in the folder "padded"
    Then the skill is called "padded"

  @S3-07
  Scenario Outline: Letters of any script are letters, judged in their NFKC form: <name>
    Given a SKILL.md of the bytes "---\nname: <name>\ndescription: D.\n---\nBody\n"
    When it is parsed under STRICT
    Then the skill is called "<called>"

    Examples:
      | name                 | called     |
      | письма-по-теме       | письма-по-теме |
      | 地图                 | 地图       |
      | cafe\xcc\x81-bill    | café-bill  |
      | \xef\xbd\x8dail      | mail       |

  @S3-07
  Scenario: A name must equal its own lower case, in any script
    Given a SKILL.md of the name "ПИСЬМА"
    When it is parsed under STRICT
    Then it is refused for "name-uppercase"

  Scenario: A host may allow ASCII letters only
    Given a SKILL.md of the name "地图"
    When it is parsed under STRICT with ASCII names only
    Then it is refused for "name-charset"

  @S3-08
  Scenario: The name must be the folder's for STRICT; LENIENT keeps the name and says so
    Given a SKILL.md of the name "mail-sorter"
    When it is parsed under STRICT in the folder "inbox"
    Then it is refused for "name-dir-mismatch"
    When it is parsed under LENIENT in the folder "inbox"
    Then the skill is called "mail-sorter"
    And a warning "name-dir-mismatch" says "'inbox'"

  @S3-08
  Scenario: Name and folder are compared in their NFKC form
    Given a SKILL.md of the bytes "---\nname: cafe\xcc\x81\ndescription: D.\n---\nBody\n"
    When it is parsed under STRICT in the folder "café"
    Then the skill is called "café"
    And nothing is said about it

  @S3-08
  Scenario: A name and a folder of another Unicode form are the same, and NFKC is what comes back (ADR 0008)
    Given the file "skills/cafe\xcc\x81/SKILL.md" of the text "---\nname: caf\xc3\xa9\ndescription: D.\n---\nBody\n"
    And the folder "skills" as a STRICT source
    When its skills are listed
    Then the only skill is called "caf\xc3\xa9", byte for byte

  @S1-24 @S1-25 @S1-26
  Scenario Outline: NAMESPACED takes any namespace and any short name of letters, digits, "_" and "-": <namespace>/<short>
    Given a SKILL.md of the name "<namespace>/<short>"
    When it is parsed under NAMESPACED in the folder "anything"
    Then the skill is called "<short>" in the namespace "<namespace>"
    And nothing is said about it

    Examples:
      | namespace | short               |
      | local     | my-skill            |
      | devops    | deploy-pipeline     |
      | local     | my_complex-skill_v2 |

  @S1-06 @S1-27
  Scenario Outline: NAMESPACED refuses a name without a proper namespace: <name>
    Given a SKILL.md of the name "<name>"
    When it is parsed under NAMESPACED
    Then it is refused, and the reason mentions "namespace"
    And it is refused for "name-namespace"

    Examples:
      | name                  |
      | invalid-name-no-slash |
      | local/bad name!       |
      | /short                |
      | local/                |
      | a/b/c                 |

  # --- fields ---------------------------------------------------------------------------------------------------------

  @S1-05 @S3-17
  Scenario Outline: A description is required, whatever the profile: <what> (<profile>)
    Given a SKILL.md of the bytes "---\nname: <name>\n<line>---\nBody\n"
    When it is parsed under <profile>
    Then it is refused, and the reason mentions "description"
    And it is refused for "description-missing"

    Examples:
      | profile    | name | what      | line                   |
      | STRICT     | a    | missing   |                        |
      | LENIENT    | a    | missing   |                        |
      | NAMESPACED | l/a  | missing   |                        |
      | STRICT     | a    | no value  | description:\n         |
      | LENIENT    | a    | no value  | description:\n         |
      | STRICT     | a    | blank     | description: "  "\n    |
      | LENIENT    | a    | blank     | description: "  "\n    |
      | NAMESPACED | l/a  | blank     | description: "  "\n    |

  @S3-09
  Scenario Outline: Lengths are counted in characters, not in bytes: <field>
    Given a SKILL.md whose <field> is <fits> times "汉"
    When it is parsed under STRICT
    Then its <field> is all of that
    And the errors are ""
    Given a SKILL.md whose <field> is <over> times "汉"
    When it is parsed under STRICT
    Then it is refused for "<field>-too-long"
    When it is parsed under LENIENT
    Then its <field> is all of that
    And the warnings are "<field>-too-long"

    Examples:
      | field         | fits | over |
      | description   | 1024 | 1025 |
      | compatibility | 500  | 501  |

  @S3-10
  Scenario: Validation reports every violation at once
    Given the file "skills/mail/SKILL.md"
      """
      ---
      name: Mail_Sorter
      description: [a, b]
      compatibility: ""
      metadata: text
      allowed-tools: [Read]
      colour: blue
      ---
      Body.
      """
    When "skills/mail" is validated
    Then all of its violations are reported at once: "name-uppercase, name-charset, name-dir-mismatch, description-type, compatibility-empty, metadata-type, allowed-tools-type, unknown-field"
    And every one of them names the file and says what to change

  @S3-11
  Scenario Outline: allowed-tools is split on blanks (<profile>)
    Given a SKILL.md of the bytes "---\nname: a\ndescription: D.\nallowed-tools: Bash(git:*)  Read Bash(npm run *)\n---\nBody\n"
    When it is parsed under <profile>
    Then its allowed tools are
      | tool           |
      | Bash(git:*)    |
      | Read           |
      | Bash(npm run *) |
    And nothing is said about it

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-12
  Scenario Outline: Metadata maps text to text, as it is written (<profile>)
    Given a SKILL.md
      """
      ---
      name: a
      description: D.
      metadata:
        version: "1.0"
        build: 007
        stable: yes
        reviewed: 2026-05-30
        ratio: 1.10
      ---
      Body.
      """
    When it is parsed under <profile>
    Then its fields are
      | field             | value        |
      | metadata.version  | "1.0"        |
      | metadata.build    | "007"        |
      | metadata.stable   | "yes"        |
      | metadata.reviewed | "2026-05-30" |
      | metadata.ratio    | "1.10"       |
    And the errors are ""

    Examples:
      | profile |
      | STRICT  |
      | LENIENT |

  @S3-18
  Scenario: A field the specification does not know is ignored when loading, and kept
    Given a SKILL.md
      """
      ---
      name: a
      description: D.
      homepage: https://example.org
      ---
      Body.
      """
    When it is parsed under LENIENT
    Then the skill is called "a"
    And its fields are
      | field          | value                 |
      | extra.homepage | "https://example.org" |
    And the infos are "unknown-field"
    And the warnings are ""
    When it is parsed under STRICT
    Then it is refused for "unknown-field"

  @S1-37
  Scenario Outline: compatibility may be just a string (<profile>)
    Given a SKILL.md of the bytes "---\nname: <name>\ndescription: D.\ncompatibility: just a string\n---\nBody\n"
    When it is parsed under <profile>
    Then its fields are
      | field         | value           |
      | compatibility | "just a string" |
    And nothing is said about it

    Examples:
      | profile    | name |
      | STRICT     | a    |
      | LENIENT    | a    |
      | NAMESPACED | l/a  |

  @S1-38
  Scenario Outline: metadata that is just a string is empty metadata and one remark (<profile>)
    Given a SKILL.md of the bytes "---\nname: <name>\ndescription: D.\nmetadata: just a string\n---\nBody\n"
    When it is parsed under <profile>
    Then its metadata is empty
    And the warnings are "metadata-type"
    And the errors are ""

    Examples:
      | profile    | name |
      | LENIENT    | a    |
      | NAMESPACED | l/a  |

  # --- steps ----------------------------------------------------------------------------------------------------------

  Scenario: Steps are kept in their order
    Given a SKILL.md
      """
      ---
      name: local/deploy
      description: D.
      steps:
        - Build it.
        - Ship it.
      ---
      Body.
      """
    When it is parsed under NAMESPACED
    Then its fields are
      | field       | value                     |
      | extra.steps | ["Build it.", "Ship it."] |
    And nothing is said about it

  @S1-46
  Scenario Outline: Steps that are no list are refused by NAMESPACED, which says what was found: <found>
    Given a SKILL.md of the bytes "---\nname: local/deploy\ndescription: D.\nsteps: <yaml>\n---\nBody\n"
    When it is parsed under NAMESPACED
    Then it is refused, and the reason mentions "steps"
    And it points at line 4 and the field "steps", names "is a <found>", and its hint says "- text"

    Examples:
      | yaml       | found   |
      | build it   | str     |
      | {a: b}     | mapping |

  @S1-47
  Scenario Outline: An empty step is refused with its position: <what>
    Given a SKILL.md of the bytes "---\nname: local/deploy\ndescription: D.\nsteps:\n- Build it.\n- <step>\n---\nBody\n"
    When it is parsed under NAMESPACED
    Then it is refused, and the reason mentions "steps"
    And it points at line 6 and the field "steps", names "step 2 is <found>", and its hint says "remove the step"

    Examples:
      | what        | step   | found    |
      | nothing     |        | empty    |
      | blanks      | "  "   | empty    |
      | a mapping   | a: b   | not text |

  Scenario: Other profiles have no steps: LENIENT keeps them as an unknown field
    Given a SKILL.md of the bytes "---\nname: deploy\ndescription: D.\nsteps: build it\n---\nBody\n"
    When it is parsed under LENIENT
    Then its fields are
      | field       | value      |
      | extra.steps | "build it" |
    And the infos are "unknown-field"

  # --- messages -------------------------------------------------------------------------------------------------------

  @S1-52
  Scenario Outline: An error names the line, the field, what was found and what to write instead: <yaml>
    Given a SKILL.md of the bytes "---\nname: <name>\ndescription: D.\n<yaml>\n---\nBody\n"
    When it is parsed under <profile>
    Then it points at line <line> and the field "<field>", names "<found>", and its hint says "<hint>"

    Examples:
      | profile    | name | yaml                      | line | field         | found                       | hint                |
      | STRICT     | Mail | license: MIT              | 2    | name          | 'Mail'                      | Write 'mail'        |
      | STRICT     | a--b | license: MIT              | 2    | name          | 'a--b'                      | single hyphens      |
      | NAMESPACED | mail | license: MIT              | 2    | name          | 'mail'                      | 'local/my-skill'    |
      | STRICT     | a    | license: [MIT]            | 4    | license       | a list                      | MIT                 |
      | STRICT     | a    | compatibility: {os: any}  | 4    | compatibility | a mapping                   | one sentence        |
      | STRICT     | a    | metadata: text            | 4    | metadata      | a str; it must be a mapping | 'key: value'        |
      | STRICT     | a    | allowed-tools: Read, Grep | 4    | allowed-tools | commas                      | Read Grep           |
      | STRICT     | a    | colour: blue              | 4    | colour        | 'colour'                    | 'metadata'          |
      | STRICT     | a    | license: a\nlicense: b    | 5    | license       | 'license' is given twice    | Keep one            |
      | NAMESPACED | l/a  | steps: build              | 4    | steps         | must be a list of texts     | - text              |

  @S1-30
  Scenario Outline: A file that is not there is a FileNotFoundError that names SKILL.md: <path>
    Given the folder "skills/empty"
    When "<path>" is validated
    Then it is refused as a SkillFileNotFoundError
    And it is also a FileNotFoundError
    And the message mentions "SKILL.md"

    Examples:
      | path                  |
      | skills/nope/SKILL.md  |
      | skills/nope           |
      | skills/empty          |
      | skills/empty/SKILL.md |

  # --- the reference library ------------------------------------------------------------------------------------------

  @S2-48
  Scenario Outline: Validation agrees with skills-ref on <what>
    Given the file "skills/<folder>/SKILL.md" of the text "---\nname: <name>\ndescription: <description>\n<more>---\nBody\n"
    When "skills/<folder>" is validated
    Then the verdict is "<verdict>"

    Examples: names
      | what                         | folder      | name        | description | more | verdict                      |
      | a plain name                 | tea-time    | tea-time    | Makes tea.  |      | valid                        |
      | upper case                   | TeaTime     | TeaTime     | Makes tea.  |      | name-uppercase               |
      | a hyphen in front            | -tea        | -tea        | Makes tea.  |      | name-hyphen                  |
      | a hyphen at the end          | tea-        | tea-        | Makes tea.  |      | name-hyphen                  |
      | two hyphens                  | tea--time   | tea--time   | Makes tea.  |      | name-hyphen                  |
      | an underscore                | tea_time    | tea_time    | Makes tea.  |      | name-charset                 |
      | another folder               | coffee      | tea         | Makes tea.  |      | name-dir-mismatch            |
      | Chinese                      | 泡茶        | 泡茶        | Makes tea.  |      | valid                        |
      | Russian                      | чай         | чай         | Makes tea.  |      | valid                        |
      | Russian with a hyphen        | мой-чай     | мой-чай     | Makes tea.  |      | valid                        |
      | Russian upper case           | ЧАЙ         | ЧАЙ         | Makes tea.  |      | name-uppercase               |
      | a decomposed accent          | thé         | the\xcc\x81 | Makes tea.  |      | valid                        |
      | an empty description         | tea         | tea         | ""          |      | description-missing          |

    Examples: fields
      | what                         | folder      | name        | description | more                                  | verdict       |
      | licence and metadata         | tea         | tea         | Makes tea.  | license: MIT\nmetadata:\n  by: me\n   | valid         |
      | an unknown field             | tea         | tea         | Makes tea.  | sort_of: green\n                      | unknown-field |
      | allowed-tools                | tea         | tea         | Makes tea.  | allowed-tools: Read Bash(git:*)\n     | valid         |
      | compatibility                | tea         | tea         | Makes tea.  | compatibility: Needs a kettle\n       | valid         |

  @S2-48
  Scenario Outline: Validation agrees with skills-ref on lengths: <field> of <count> characters
    Given a SKILL.md whose <field> is <count> times "x"
    When it is parsed under STRICT
    Then the errors are "<errors>"

    Examples:
      | field         | count | errors                 |
      | name          | 64    |                        |
      | name          | 70    | name-too-long          |
      | description   | 1024  |                        |
      | description   | 1100  | description-too-long   |
      | compatibility | 500   |                        |
      | compatibility | 550   | compatibility-too-long |

  @S2-48
  Scenario Outline: Validation agrees with skills-ref on what is no skill: <what>
    Given the folder "skills/empty"
    And the file "skills/file.txt" of the text "x"
    When "<path>" is validated
    Then it is refused as a SkillFileNotFoundError
    And the message mentions "<word>"

    Examples:
      | what                      | path            | word              |
      | nothing at the path       | skills/nope     | was not found     |
      | a file of another name    | skills/file.txt | is not a SKILL.md |
      | a folder without SKILL.md | skills/empty    | has no SKILL.md   |
